"""The scripted demo: from a question over analysts to settlement, on the vintages of one GDP figure.

A script replaces every model. It shows the plumbing, not judgement.
"""

from forge.demo.story import play

__all__ = ["play"]
