"""The counts and failures of a campaign or a part of it."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """The number of comparisons, how many of them had rows, other counts by name, and the failures."""

    compared: int = 0
    answered: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Any] = field(default_factory=list)
