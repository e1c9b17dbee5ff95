"""`pitlake sync`: fills a lake from outside sources and keeps it up to date, in this process and without a graph.

The command line is pipelines/commands/sync.py; it runs the same feeds as the Dagster assets.
"""
