"""Extraction: one folder per source, one module per dataset. Pure functions and the assets made of them.

Wiring is in pipelines, connections in resources, and everything that decides what readers see in pitlake.
"""
