"""Wiring only: definitions, partitions, jobs and schedules. A file here that computes data is in the wrong room."""
