"""AsOfBench: who sees the future?

A benchmark of data layers that claim to answer as of an instant, or are used so. Cases are small worlds of dated rows,
with something planted after the instant of the question. The package does not need pitlake, which is one of the scored
systems. Its core needs only the standard library. An adapter extends `Visible` or `Adapter`.
"""

from asofbench.adapters.base import Adapter, Unable, Visible

__all__ = ["Adapter", "Unable", "Visible"]
__version__ = "0.2.0"
