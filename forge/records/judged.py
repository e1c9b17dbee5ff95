"""What judges a View, what the lake said of it, and how the forecasts of a category came out."""

import operator
import re
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal

from forge.records.base import Category, Count, Record, Share

SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
_RULE = re.compile(r"([a-z][a-z0-9_]*) (<|<=|>|>=|==|!=) (?:(-?[0-9]+(?:\.[0-9]+)?)|'([^']*)')")


@dataclass(frozen=True, kw_only=True)
class Settles:
    """What will judge a View: a named query of the lake, its values, a rule over its first row such as
    `value < 2.0`, and the day by which it is asked.
    """

    query: str
    rule: str
    by: date
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _parts(self.rule)

    @property
    def column(self) -> str:
        """The column the rule looks at."""
        return _parts(self.rule)[0]

    def holds(self, value: Any) -> bool:
        """Whether the rule holds for a value of its column. Raises ValueError for one of another type."""
        _, sign, number, word = _parts(self.rule)
        if isinstance(value, bool) or isinstance(value, str) != (number is None):
            raise ValueError(f"{self.column} is {value!r}, which can't be held against {self.rule!r}")
        due: Any = word if number is None else Decimal(number)
        return bool(SIGNS[sign](value if number is None else Decimal(str(value)), due))


def _parts(rule: str) -> tuple[str, str, str | None, str | None]:
    found = _RULE.fullmatch(rule)
    if found is None:
        raise ValueError("rule: give a column, a comparison and a value, such as: value < 2.0")
    return found[1], found[2], found[3], found[4]


@dataclass(frozen=True, kw_only=True)
class Band:
    """How forecasts of a band of confidence came out. bias: mean forecast less the share that came true; least, most:
    the 95 % interval of that share.
    """

    low: Share
    high: Share
    forecasts: Count
    bias: float
    least: Share = 0.0
    most: Share = 1.0


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What a trade or a View stood at when a session was over. value: a return as a share of what was opened; of a
    View, its rule's column.
    """

    day: date
    value: float


@dataclass(frozen=True, kw_only=True)
class Settlement(Record):
    """What the lake said of a View that was due. Written by code alone; a restated figure makes a second one.

    probability: the View's confidence when it first stood so, at stated_at; came_true: whether its rule held.
    value: of the rule's column, as JSON; named: what the row is about, as JSON; question, answer: SHA-256.
    """

    view: str
    category: Category
    probability: Share
    status: Literal["came_true", "failed", "unanswered"]
    by: date
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    stated_at: datetime
    source: str = ""
    exposure: Literal["clean", "partial", "exposed"] = "exposed"
    rule: str = ""
    value: str = ""
    named: str = ""
    asked_as_of: datetime
    public_at: datetime | None = None
    evidence: str = ""
    question: str = ""
    answer: str = ""
    version: Count | None = None
    restates: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Forecasts of one horizon, source and exposure. Scores are missing under 30 forecasts."""

    horizon: str
    source: str
    exposure: str
    forecasts: Count
    brier: Share | None = None
    base_brier: Share | None = None
    log_score: float | None = None
    ece: Share | None = None
    null_ece: Share | None = None


@dataclass(frozen=True, kw_only=True)
class Calibration(Record):
    """How forecasts of a category came out; its id is the category. Written by code alone.

    Its figures are of forecasts of one exposure, the cleanest there are enough of; cells have all of them.
    """

    forecasts: Count
    brier: Share | None = None
    worst_bias: float | None = None
    status: Literal["measured", "insufficient"] = "insufficient"
    ece: Share | None = None
    updated: datetime | None = None
    links: tuple[str, ...] = ()
    null_ece: Share | None = None
    base_brier: Share | None = None
    log_score: float | None = None
    reliability: float | None = None
    resolution: float | None = None
    exposure: str = ""
    bands: tuple[Band, ...] = ()
    cells: tuple[Cell, ...] = ()
