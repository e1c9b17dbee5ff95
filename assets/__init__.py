"""Extraction: one folder per source, one module per dataset. Contains pure functions and the assets made of them.

Dagster's definitions are in pipelines and connections in resources. All code that decides what readers see is in
pitlake.
"""
