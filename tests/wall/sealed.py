"""pitlake's own session as a runner for the wall's proofs: each answer is text, whether rows or an error."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from pitlake.errors import LimitExceeded, PitlakeError, SessionLost
from pitlake.questions.catalogue import Query
from pitlake.session import Catalogue, Limits, Session
from pitlake.session.visible.cut_cache import CutCache
from tests.sessions import open_at
from tests.wall.worlds import DATASETS, SEARCHED, T, World

LIMITS = Limits(seconds=30.0)
MOST_ROWS = 20_000
FEW_ROWS = 12  # so that months of small worlds are cut both as a whole and by days


class Sealed:
    """A sealed session over a world. It is reopened after a loss, so that one attack cannot shield the next."""

    def __init__(
        self,
        world: World,
        as_of=T,
        isolation: str = "process",
        hindsight: str = "show",
        earlier: Sequence[datetime] = (),
        datasets: Sequence[str] = (*DATASETS, *SEARCHED),
        catalogue: Catalogue | None = None,
    ) -> None:
        """Open a session that moves through the `earlier` instants to `as_of`. catalogue: the contracts of datasets
        other than the worlds'.
        """
        self.world, self.as_of, self.isolation, self.hindsight = world, as_of, isolation, hindsight
        self.earlier, self.datasets, self.catalogue = earlier, datasets, catalogue
        self.session = self._open()

    def _open(self) -> Session:
        first, *later = (*self.earlier, self.as_of)
        session = self._open_at(first)
        for moment in later:
            session.sql(
                "SELECT (SELECT count(*) FROM news), (SELECT max(close) FROM prices), (SELECT count(*) FROM gaps)"
            )
            session.advance(moment)
        return session

    def _open_at(self, as_of: datetime) -> Session:
        return open_at(
            self.world.snapshot,
            as_of,
            datasets=self.datasets,
            catalogue=self.catalogue,
            isolation=self.isolation,
            hindsight=self.hindsight,
            limits=LIMITS,
            cut_cache=CutCache(few=FEW_ROWS),
        )

    def run(self, question: str | Query, values: dict[str, Any] | None = None) -> str:
        """Return the answer as text."""
        answer, error = answer_text(self.session, question, values)
        if isinstance(error, SessionLost | LimitExceeded):
            self.session.close()
            self.session = self._open()
        return answer

    def close(self) -> None:
        """Close the session."""
        self.session.close()


def answer_text(
    session: Session, question: str | Query, values: dict[str, Any] | None = None
) -> tuple[str, PitlakeError | None]:
    """Return a session's answer as text that shows every byte, or an error as text together with the error."""
    try:
        result = session.ask(question, values, max_rows=MOST_ROWS)
        return f"{result.receipt.result_sha256}\n{_raw(result.arrow())}", None
    except PitlakeError as error:
        return f"error {type(error).__name__}: {error}", error


def _raw(table: pa.Table) -> str:
    """Return every byte of a result, so that no rendering can hide any. `take` blanks the bytes of nulls."""
    table = table.take(pa.array(range(len(table)), pa.int64()))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes().decode("latin-1")
