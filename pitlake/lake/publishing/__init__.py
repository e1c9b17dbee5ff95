"""From a stage to a new lake version: hashing, matching, audit, diff and commit."""
