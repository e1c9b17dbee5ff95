"""What a case is: rows as a source delivers them, a question as of an instant, and what a right answer holds."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

Json = Mapping[str, Any]
Truth = Any

NOW = "now"
"""An `as_of` that means: after everything is loaded, on the clock of the machine that runs it."""

NEVER = "9999-12-31T00:00:00.000000Z"
"""When a canary becomes public that never does: of a record without a date."""

DATA = (
    "rows", "members", "figures", "adjusted", "aggregate", "frequency", "join", "hostile", "retracted", "erased",
)  # fmt: skip
"""Kinds of questions about data, whose right answer is stated."""
DOORS = ("forgotten", "missing", "clock", "listing", "statistics", "counts", "error", "escape")
"""Kinds of questions that a door may refuse: they attack it."""


def written(moment: datetime) -> str:
    """An aware instant as the cases spell it: UTC, microseconds, Z."""
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read(text: str) -> datetime:
    """The aware UTC instant of a text that `written` spelt."""
    return datetime.fromisoformat(text).astimezone(timezone.utc)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One record as its source delivers it.

    event: what it is about (a period's end, a bar's start), UTC. stated: when it became public in the source's own
    words, or None. stamp: what those words are by the source's documentation: instant, date (New York), new_york (local
    time without an offset), start (of something that ends at `ends`), snapshot (the date that was requested of an
    endpoint that returns what is current), effective (the day from which it holds, whenever it was announced). updated:
    the source's stamp of the last edit.
    loaded_at: when the store received it, UTC. extra: columns the source documents as filled in later.
    """

    entity: str
    item: str
    event: str
    stated: str | None
    loaded_at: str
    value: float
    text: str
    stamp: str = "instant"
    ends: str | None = None
    updated: str | None = None
    extra: str | None = None


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, and as of when. kind: one of DATA or DOORS. Fields that a kind does not use are left out.

    figures: the record `term` of each item of `entity` whose value is 1. forgotten: the entity's records, by a caller
    who leaves the instant out. missing: a join whose events in `spine` have "" for their time. hostile: `statement`
    runs in a session, and then the next session is asked for the entity's records. adjusted: the entity's figures,
    divided by its records whose item starts with `term`. retracted: the entity's records after the delivery of the
    instant `statement` was withdrawn. erased: the same after the entity `statement` was erased. loaded_by: only what
    the store had received by this instant counts (default: all of it).
    """

    kind: str
    as_of: str
    entity: str = ""
    fn: str = ""
    term: str = ""
    spine: tuple[tuple[str, str, str], ...] = ()
    statement: str = ""
    loaded_by: str = ""

    @classmethod
    def of(cls, found: Json) -> "Question":
        """A question as JSON has it."""
        spine = tuple((entity, item, at) for entity, item, at in found.get("spine", ()))
        return cls(**{**found, "spine": spine})

    def as_json(self) -> dict[str, Any]:
        """Without what the kind does not use."""
        return {name: value for name, value in asdict(self).items() if value not in ("", ())}


@dataclass(frozen=True, kw_only=True)
class Canary:
    """A token or a number that nobody could know before `public`."""

    text: str
    public: str


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case: `rows` are always there, `plant` only in the world with a future. truth: of `ask`; None for DOORS."""

    id: str
    kind: str
    source: str
    world: str
    rows: tuple[Row, ...]
    plant: tuple[Row, ...]
    canaries: tuple[Canary, ...]
    ask: Question
    truth: Truth
    later: Question
    later_truth: Truth
    control: Question
    control_truth: Truth
    weight: int = 1

    def as_json(self) -> dict[str, Any]:
        """A line of case.jsonl, without what is empty."""
        return {
            "id": self.id,
            "class": self.kind,
            "source": self.source,
            "world": self.world,
            "T": self.ask.as_of,
            "rows": [told(row) for row in self.rows],
            "plant": [told(row) for row in self.plant],
            "canaries": [asdict(canary) for canary in self.canaries],
            "ask": self.ask.as_json(),
            "truth": self.truth,
            "later": {"ask": self.later.as_json(), "truth": self.later_truth},
            "control": {"ask": self.control.as_json(), "truth": self.control_truth},
            "weight": self.weight,
        }


def told(row: Row) -> dict[str, Any]:
    """A row as JSON, without what it leaves open."""
    return {name: value for name, value in asdict(row).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a system did with a question. log: what it wrote to its output meanwhile. files: what was erased and is
    still in the files of its folder.
    """

    answer: Any = None
    error: str = ""
    log: str = ""
    files: str = ""
    able: bool = True


@dataclass(frozen=True)
class Dice:
    """Numbers and tokens from a seed, alike on every machine and every Python."""

    seed: str
    path: tuple[str, ...] = field(default_factory=tuple)

    def of(self, *path: object) -> "Dice":
        """Other dice for what is named."""
        return Dice(self.seed, (*self.path, *map(str, path)))

    def number(self, low: int, high: int, *what: object) -> int:
        """A whole number from low to high, both included."""
        name = "/".join((self.seed, *self.path, *map(str, what)))
        return low + int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") % (high - low + 1)

    def pick(self, among: Sequence[str], *what: object) -> str:
        """One of them."""
        return among[self.number(0, len(among) - 1, *what)]

    def token(self, *what: object) -> str:
        """Eight letters and digits that occur nowhere else."""
        alphabet = "bcdfghjkmnpqrstvwxz23456789"
        return "".join(self.pick(alphabet, *what, place) for place in range(8))
