"""The kernel's audit as Dagster checks, and warnings that only inform.

pitlake.lake.publishing.audit and `checks.warnings` measure; nothing here reads or writes data.
"""
