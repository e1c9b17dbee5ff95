"""Servers that run on this machine alone, for the demo, the tests and laptops: a graph, and how processes share it."""
