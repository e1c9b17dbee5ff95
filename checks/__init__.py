"""What lets rows in, as people see it: the kernel's audit as Dagster checks, and warnings that only inform.

What is measured lives in pitlake.lake.publishing.audit and in `checks.warnings`; nothing here reads or writes data.
"""
