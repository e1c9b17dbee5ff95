"""Publishing: from a stage to a new lake version by hashing, matching, audit, diff and commit."""
