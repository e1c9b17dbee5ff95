"""Answers for agents: a session's rows as envelopes, page by page. No row is truncated.

pitlake.answers.provenance decides whether a row is proven or computed. A row has no instant if nothing is public yet,
and then becomes a gap. pitlake.answers.envelope defines the envelope and its gate.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pitlake.answers.envelope import Envelope, clean_gap, envelope, open_envelope, row_too_large, rows_of, to_json
from pitlake.answers.provenance import Provenance
from pitlake.clock import AVAILABLE_AT, iso
from pitlake.errors import BadInput, EnvelopeRefused
from pitlake.gate.rules import NEWEST_INPUT

if TYPE_CHECKING:
    import pyarrow as pa

_AROUND = len(to_json({"data": [], "gaps": []})) - len(",")  # The bytes of the envelope around a single item.
_AS_IT_IS = "select available_at unchanged; or leave it out, which marks the rows as computed"
_HINTS = {
    "PIT_INVALID_AVAILABLE_AT_SOURCE": "select available_at_source with available_at, or leave both out",
    "PIT_MISSING_AVAILABLE_AT": _AS_IT_IS,
    "PIT_INVALID_AVAILABLE_AT_FORMAT": _AS_IT_IS,
    "PIT_MISSING_TZ": _AS_IT_IS,
    "PIT_FORBIDDEN_FIELD": "rename the column: forward returns are shown in open mode only",
}


@dataclass(frozen=True)
class Page:
    """A page of an answer as an envelope. `following` is the number of the next row, None at the end."""

    payload: Envelope
    following: int | None


def page(
    table: "pa.Table",
    provenance: Provenance,
    as_of: datetime | None,
    *,
    start: int = 0,
    max_rows: int | None = None,
    max_bytes: int | None = None,
) -> Page:
    """Return the rows from `start` on that fit both limits: at least one row, and only whole rows.

    as_of: the gate's cut-off, None in open mode. Raises EnvelopeRefused with the next step, BadInput for values that
    JSON can't represent and for a row larger than max_bytes.
    """
    encoded = rows_of(table.slice(start, max_rows), max_bytes)
    rows = _fitting(map(provenance.item, encoded), lambda row: open_envelope([row], []), max_bytes)
    stop = start + len(rows)
    visible_rows = [row for row in rows if as_of is None or row.get(AVAILABLE_AT) or row.get(NEWEST_INPUT)]
    gaps = []
    if not table.num_rows or len(visible_rows) < len(rows):
        reason = f"nothing that matches was public as of {iso(as_of)}" if as_of else "nothing matches"
        gaps = [clean_gap("no_data", reason)]
    return Page(_gated(visible_rows, gaps, as_of), stop if stop < table.num_rows else None)


def text(table: "pa.Table", provenance: Provenance, as_of: datetime | None) -> bytes:
    """Return a whole answer as the JSON text of one envelope."""
    return to_json(page(table, provenance, as_of).payload).encode() + b"\n"


def gaps_page(table: "pa.Table", as_of: datetime | None, *, start: int, max_rows: int, max_bytes: int) -> Page:
    """Return rows of the `gaps` view as an envelope of gaps without data. Limits and errors are as in `page`."""
    gaps = _fitting(rows_of(table.slice(start, max_rows), max_bytes), lambda gap: open_envelope([], [gap]), max_bytes)
    stop = start + len(gaps)
    return Page(_gated([], gaps, as_of), stop if stop < table.num_rows else None)


def _fitting(
    items: Iterable[dict[str, Any]], alone: Callable[[dict[str, Any]], Envelope], max_bytes: int | None
) -> list[dict[str, Any]]:
    """Return the first items whose JSON fits. alone: a function that returns the envelope of a single item."""
    fitting: list[dict[str, Any]] = []
    size = 0
    for item in items:
        if max_bytes is not None:
            size += len(to_json(alone(item)).encode()) - _AROUND
            if size > max_bytes and not fitting:
                raise row_too_large(max_bytes)
            if size > max_bytes:
                break
        fitting.append(item)
    return fitting


def _gated(rows: list[dict[str, Any]], gaps: list[dict[str, Any]], as_of: datetime | None) -> Envelope:
    if as_of is None:
        return open_envelope(rows, gaps)
    try:
        return envelope(rows, gaps, as_of)
    except EnvelopeRefused as refused:
        hint = _HINTS.get(refused.code)
        if hint is None:
            raise
        raise BadInput("rows", str(refused), hint) from None
