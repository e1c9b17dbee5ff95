"""The scripted demo: a question, analysts, decisions and settlement, on the vintages of one GDP figure.

A script replaces every model, so the demo shows that the parts work together, not good judgement.
"""

from forge.demo.story import play

__all__ = ["play"]
