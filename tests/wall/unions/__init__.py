"""Worlds in which sources disagree on the same thing: their histories, the expected answers, and the judges."""
