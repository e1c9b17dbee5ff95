"""Servers that run only on this machine, for the demo, the tests and laptops: a graph, and how processes share it."""
