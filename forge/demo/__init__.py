"""The scripted demo: from a question over analysts to settlement, on the vintages of one GDP figure.

A script replaces every model. It shows that the parts work together, not good judgement.
"""

from forge.demo.story import play

__all__ = ["play"]
