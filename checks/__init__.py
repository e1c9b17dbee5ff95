"""The kernel's audit as Dagster checks, and warnings that never stop a publish.

pitlake.lake.publishing.audit and `checks.warnings` compute the results.
"""
