"""Worlds in which several sources tell of one thing, and disagree: their histories, what is due, and the judges."""
