"""Training cut-offs of language models, and the verdict whether a model may know what came after an instant.

models.csv has what the makers publish, with the page of each statement. It does not have a maker's "knowledge cut-off",
because training data may be later. The release date is used instead.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import Literal, cast

from pitlake.clock import new_york_day

Exposure = Literal["exposed", "partial", "clean"]

CLEAN: Exposure = "clean"
STATEMENTS = "models.csv"
_DATED = re.compile(r"-([0-9]{4})([0-9]{2})([0-9]{2})\Z")


@dataclass(frozen=True)
class Model:
    """A model that asks. trained_to: the last day that its training data can reach; None if unknown. reason: who says
    so. is_stated: whether exactly that day is stated. must_be_clean: whether to refuse questions that are not clean.
    """

    name: str
    trained_to: date | None = None
    reason: str = "no page of its maker with its cut-off is known; add one to `model_registry`"
    is_stated: bool = False
    must_be_clean: bool = False

    def judge(self, as_of: datetime | None) -> tuple[Exposure, str]:
        """Return the verdict for an instant (None: open mode), and its reason in one sentence."""
        result = exposure([str(self.trained_to) if self.trained_to else None], as_of) if as_of else "exposed"
        is_certain = self.is_stated and not (as_of and self.trained_to and self.trained_to < as_of.date())
        trained = "was not" if result == CLEAN else "was" if is_certain else "may have been"
        when = f"{as_of:%Y-%m-%d}" if as_of else "an instant, because open mode has none"
        return result, f"{self.name} {trained} trained after {when}: {self.reason}"


def plain_id(name: str) -> str:
    """Return a model's id without provider and server: `anthropic:<id>`, `openai:<id>@<url>`."""
    return name.partition("@")[0].rpartition(":")[2]


def published(name: str) -> Model:
    """Return a model with what its maker publishes. name: an id, with or without its provider, maker and date.

    An id with a day after the published one belongs to a later model, about which nothing is known.
    """
    known_by_maker, dated = _DATED.sub("", plain_id(name).lower()), _DATED.search(plain_id(name))
    for row in _statements():
        if re.fullmatch(f"({row['maker']}/)?{row['family']}", known_by_maker):
            day = date.fromisoformat(row["trained_to"] or row["released"])
            if dated and "-".join(dated.groups()) > str(day):
                break
            ends = f"that its {row['covers']} data ends on {day}" if row["trained_to"] else f"only its release, {day}"
            return Model(name, day, f"its maker states {ends} ({row['source']})", bool(row["trained_to"]))
    return Model(name)


@cache
def _statements() -> list[dict[str, str]]:
    return list(csv.DictReader(files("pitlake").joinpath(STATEMENTS).read_text(encoding="utf-8").splitlines()))


def exposure(cut_offs: Iterable[str | None], as_of: datetime, judged: date | None = None) -> Exposure:
    """Return whether models may have seen events after an instant. judged: the day that settles the forecast.

    clean: every cut-off is before the day of the instant in New York. partial: a cut-off is after that day, but before
    the day that settles the forecast. exposed: any other case, including an unknown cut-off.
    """
    days = [cut_off_day and date.fromisoformat(cut_off_day) for cut_off_day in cut_offs]
    if not all(days):
        return "exposed"
    newest = max(cast("list[date]", days), default=None)
    if newest is None or newest < new_york_day(as_of):
        return "clean" if newest else "exposed"
    return "partial" if judged and newest < judged else "exposed"
