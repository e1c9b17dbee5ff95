"""What a campaign or a part of it compared."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """How much was compared, how much of it was answered with rows, other counts by name, and the failures."""

    compared: int = 0
    answered: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Any] = field(default_factory=list)
