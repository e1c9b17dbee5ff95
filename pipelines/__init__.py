"""Dagster's definitions, partitions, jobs and schedules. Code that computes data belongs elsewhere."""
