"""Worlds in which sources disagree about the same thing: their histories, the expected answers, and the judges."""
