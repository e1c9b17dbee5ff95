"""The desk's pages, beside the time machine's: what the portfolio manager's memory held at an instant, to look at."""

from forge.web.desk import room

__all__ = ["room"]
