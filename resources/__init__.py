"""Connections to the outside: the source graph, HTTP capture and replay, one client per provider, the lake.

This package does not decide what a row means (assets/) or whether it may be published (checks/). Assets, checks and
pipelines use it.
"""
