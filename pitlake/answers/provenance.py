"""The provenance of an item: a row of the lake, which carries its proof, or a value computed from rows.

An item carries proof (`available_at`, `available_at_source`, `evidence`) if it is an unchanged row of one dataset's
view, or a row of a named query, which is part of pitlake. Any other item, such as a join, an aggregate, a renamed
column or a constant, carries no proof. It is marked `computed`, with the newest available_at of its possible inputs.
The process that runs a statement decides whether an item is a row or computed: see pitlake.session.sql.reading.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pitlake.clock import AVAILABLE_AT
from pitlake.gate.rules import COMPUTED, NEWEST_INPUT, PROOF

if TYPE_CHECKING:
    from pitlake.questions.catalogue import Query
    from pitlake.session import Result, Session


@dataclass(frozen=True)
class Provenance:
    """The provenance of rows. proven: whether they carry their own proof. newest_input_at: the newest available_at of
    the rows that were read; None if none of them is public yet.
    """

    proven: bool
    newest_input_at: datetime | None

    @classmethod
    def of(cls, session: "Session", result: "Result", query: "Query | None" = None) -> "Provenance":
        """Return the provenance of a session's answer. query: the named query it answers."""
        views = result.reading.views
        read = query.reads if query else {session.views[view] for view in views} if views else session.newest
        newest_inputs = [at for name, at in session.newest.items() if at and name in read]
        return cls(query is not None or result.reading.rows_of is not None, max(newest_inputs, default=None))

    def item(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row as an item; a computed row is marked and carries no proof."""
        if self.proven and row.get(AVAILABLE_AT) is not None:
            return dict(row)
        values = {name: value for name, value in row.items() if name.lower() not in (*PROOF, COMPUTED, NEWEST_INPUT)}
        if self.newest_input_at is None:
            return values
        return values | {COMPUTED: True, NEWEST_INPUT: self.newest_input_at}
