"""A finding: an output that depends on unpublished rows, with its smallest example."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pitlake.clock import iso

KINDS = {
    "future": "depends on rows that were not public",
    "cache": "depends on an earlier call",
    "session": "opens a session that sees more",
    "file": "reads a file that the lake does not date",
    "network": "uses the network",
    "process": "starts a process, which the check can't follow",
    "clock": "depends on this machine's clock",
}
"""The problem of each kind of finding."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One output of a function that depends on unpublished rows.

    Attributes:
        kind: a key of KINDS.
        at: the instant; rows after it must not affect the output.
        column: the output; "" for the function as a whole.
        row: the name of the example's row.
        with_future: the value with later rows.
        without_future: the value without them.
        datasets: the datasets whose later rows alone cause the difference.
        world: how the lake was changed.
        where: the responsible line of the function's code, if known.
    """

    kind: str
    at: datetime
    column: str = ""
    row: Mapping[str, Any] = field(default_factory=dict)
    with_future: Any = None
    without_future: Any = None
    datasets: tuple[str, ...] = ()
    world: str = ""
    where: str = ""

    def __str__(self) -> str:
        subject = f"{self.column} " if self.column else ""
        parts = [f"{subject}{KINDS[self.kind]}"]
        if self.where:
            parts.append(self.where)
        if self.column:
            row = ", ".join(f"{name}={_spelled(value)}" for name, value in self.row.items()) or "the answer"
            parts.append(f"{row}: {_spelled(self.with_future)}, but {_spelled(self.without_future)} {self.world}")
        if self.datasets:
            parts.append(f"caused by {', '.join(self.datasets)}")
        return f"as of {iso(self.at)}: " + "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "kind": self.kind,
            "at": iso(self.at),
            "column": self.column,
            "row": {name: _spelled(value) for name, value in self.row.items()},
            "with_future": _spelled(self.with_future),
            "without_future": _spelled(self.without_future),
            "datasets": list(self.datasets),
            "world": self.world,
            "where": self.where,
        }


def _spelled(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    text = "null" if value is None else str(value)
    return text if len(text) <= 60 else text[:59] + "…"
