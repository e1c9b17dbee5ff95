"""Records of judged forecasts: the question of a View, its settlement, and the calibration of a category."""

import operator
import re
from collections.abc import Iterable
from dataclasses import field
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Any, Literal

from forge.records.base import Category, Count, Record, Share, model
from forge.records.spelling import AND, Bounds, Rule

SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
_RULE = re.compile(r"([a-z][a-z0-9_]*) (<|<=|>|>=|==|!=) (?:(-?[0-9]+(?:\.[0-9]+)?)|'([^']*)')")


@model
class Settles:
    """The question that judges a View.

    query, params: a named query of the lake and its values. rule: a comparison over its first row, such as `value <
    2.0`. by: the day as of which it is asked.
    """

    query: str
    rule: Rule
    by: date
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _parts(self.rule)

    @property
    def column(self) -> str:
        return _parts(self.rule)[0]

    def holds(self, value: Any) -> bool:
        """Return whether the rule holds for a value of its column. Raises ValueError for a value of another type."""
        _, sign, number, word = _parts(self.rule)
        if isinstance(value, bool) or isinstance(value, str) != (number is None):
            raise ValueError(f"{self.column} is {value!r}, which can't be compared by {self.rule!r}")
        operand: Any = word if number is None else Decimal(number)
        return bool(SIGNS[sign](value if number is None else Decimal(str(value)), operand))


def holds_all(conditions: str, value: Any) -> bool:
    """Return whether all rules, which are joined by `and`, hold for a value of their column. Raises ValueError."""
    return all(Settles(query="", rule=rule, by=date.max).holds(value) for rule in conditions.split(AND))


def column_of(conditions: str) -> str:
    """Return the column of rules that are joined by `and`. Raises ValueError if they read several columns."""
    columns = {_parts(rule)[0] for rule in conditions.split(AND)}
    if len(columns) > 1:
        raise ValueError(f"it reads {', '.join(sorted(columns))}; give one column")
    return columns.pop()


def cases(rules: Iterable[str]) -> list[float] | list[str]:
    """Return test values for a column, one for each range or text that the rules distinguish. Raises ValueError."""
    parts = [_parts(rule) for conditions in rules for rule in conditions.split(AND)]
    if any(word is not None for *_, word in parts):
        return [*sorted({word for *_, word in parts if word is not None}), "another text"]
    numbers = sorted({float(number) for _, _, number, _ in parts if number is not None})
    between = [(low + high) / 2 for low, high in pairwise(numbers)]
    return sorted([*numbers, *between, numbers[0] - 1, numbers[-1] + 1])


def _parts(rule: str) -> tuple[str, str, str | None, str | None]:
    match = _RULE.fullmatch(rule)
    if match is None:
        raise ValueError("rule: give a column, a comparison and a value, such as: value < 2.0")
    return match[1], match[2], match[3], match[4]


@model
class Band:
    """The forecasts of one band of confidence.

    bias: the mean forecast minus the share that came true. least, most: the 95 % interval of that share.
    """

    low: Share
    high: Share
    forecasts: Count
    bias: float
    least: Share = 0.0
    most: Share = 1.0


@model
class Mark:
    """The value of a trade or a View at the end of a session.

    value: a trade's return as a share of its entry price, or the column of a View's rule.
    """

    day: date
    value: float


@model
class Settlement(Record):
    """The lake's answer to a View's question. Only code writes it; a restated figure adds a second settlement.

    probability: the View's first confidence, at stated_at. status: whether its rule held. value: the value of the
    rule's column, as JSON. row_key: the key of the row, as JSON. question, answer: SHA-256 hashes. scenario: the
    scenario that came true, "" without conditions. scenario_probability: its forecast. scenario_brier: the Brier score
    over all scenarios, 0 to 2. base_rate: how often the rule held before the forecast; None if the lake has too little
    data. lead_days: how long the View was right without a break before the answer was public; None if it was not right
    at that time.
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
    row_key: str = ""
    asked_as_of: datetime
    public_at: datetime | None = None
    evidence: str = ""
    question: str = ""
    answer: str = ""
    version: Count | None = None
    restates: str = ""
    reason: str = ""
    scenario: str = ""
    scenario_probability: Share | None = None
    scenario_brier: Annotated[float, Bounds(0, 2)] | None = None
    base_rate: Share | None = None
    lead_days: Annotated[float, Bounds(0)] | None = None


@model
class Cell:
    """The forecasts of one horizon, source and exposure. Scores need at least 30 forecasts."""

    horizon: str
    source: str
    exposure: str
    forecasts: Count
    brier: Share | None = None
    base_brier: Share | None = None
    log_score: float | None = None
    ece: Share | None = None
    null_ece: Share | None = None
    skill: float | None = None


@model
class Calibration(Record):
    """The scores of a category's forecasts; its id is the category. Only code writes it.

    The figures cover forecasts of a single exposure, the cleanest with enough forecasts. The cells cover all exposures.
    The same question in several Views counts as one forecast. repeats: the number of the other forecasts. skill: the
    skill of `skill_forecasts` compared with stating their base rates, above 0 if better. The scenario scores cover
    `scenario_forecasts`. lead_days: the median over `right_forecasts`, which were right before the answer was public.
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
    right_forecasts: Count = 0
    lead_days: float | None = None
    repeats: Count = 0
    skill_forecasts: Count = 0
    skill: float | None = None
    scenario_forecasts: Count = 0
    scenario_brier: float | None = None
    scenario_log_score: float | None = None
    bands: tuple[Band, ...] = ()
    cells: tuple[Cell, ...] = ()
