"""Extraction: one folder per source, one module per dataset. Pure functions and the assets made of them.

Dagster's definitions are in pipelines, connections in resources, and all code that decides what readers see is in
pitlake.
"""
