"""Connections to the outside: the source graph, HTTP capture and replay, one client per provider, the lake.

Nothing here decides what a row means (assets/) or whether it may be published (checks/). Assets, checks and pipelines
use it.
"""
