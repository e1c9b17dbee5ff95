"""The scripted story: what Forge does with a question, from analysts to settlement, on the vintages of one GDP figure.

A script stands in for every model. That proves plumbing, not judgement.
"""

from forge.demo.story import play

__all__ = ["play"]
