"""Connections to the outside: the source graph, HTTP capture and replay, one client per provider, the lake.

This package decides neither what a row means (assets/) nor whether it may be published (checks/). Assets, checks and
pipelines use it.
"""
