"""Answers the MCP server's questions in sealed sessions, page by page.

A call sees nothing of another call; `kept` decides which sessions are reused. A cursor continues the same answer, or
reports that the answer differs. It is signed and contains no lake version, because version numbers reveal commits after
the instant. The service remembers the version of each answer. `tools` turns the answers into MCP results.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from pitlake.answers.contents import holdings
from pitlake.answers.page import Page, gaps_page, page
from pitlake.answers.provenance import Provenance
from pitlake.clock import instant, iso
from pitlake.contract import Dataset
from pitlake.errors import BadInput
from pitlake.mcp.lanes import Lanes
from pitlake.questions.catalogue import Query
from pitlake.serving.kept import KeptSessions
from pitlake.session import Limits, Viewpoint
from pitlake.session.arguments import query_text

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pitlake.session import Result, Session

ROWS, MOST_ROWS = 100, 1000
PAGE_BYTES = 256 * 1024
FRAME_BYTES = 1024  # room for the receipt and the cursor of a page
REMEMBERED = 10_000
KEY_VARIABLE, SHORTEST_KEY = "PITLAKE_CURSOR_KEY", 32
LIMITS = Limits(rows=100_000, bytes=64 << 20, seconds=30.0, memory=4 << 30)

GAPS = """
SELECT gap_type, reason, dataset, locator, available_at
FROM gaps
WHERE $dataset::VARCHAR IS NULL OR dataset = $dataset
ORDER BY available_at DESC, dataset, gap_type, reason, locator
"""


@dataclass(frozen=True)
class ServiceQuestion:
    """SQL or a catalogue query, and its parameters.

    datasets: the datasets that the session needs; None for all. about_gaps: whether the question reads the gaps. Raises
    BadInput for SQL that no session accepts.
    """

    question: str | Query
    params: dict[str, Any] | None = None
    datasets: Collection[str] | None = None
    about_gaps: bool = False

    def __post_init__(self) -> None:
        query_text(self.sql)

    @property
    def query(self) -> Query | None:
        """Return the catalogue query, if it is one."""
        return self.question if isinstance(self.question, Query) else None

    @property
    def sql(self) -> str:
        return self.question.sql if isinstance(self.question, Query) else self.question

    def digest(self, viewpoint: Viewpoint) -> str:
        """Return the digest by which a cursor recognises the question, for a viewpoint of any lake version."""
        instants = (iso(at) if at else None for at in (viewpoint.as_of, viewpoint.known_by))
        parts = [self.sql, self.params, *instants, self.about_gaps]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class AnswerPage:
    """One page of an answer. `cursor` continues it, None at the end."""

    page: Page
    cursor: str | None
    result: "Result"


def cursor_key() -> bytes:
    """Return the key that signs cursors: $PITLAKE_CURSOR_KEY for servers that share clients, otherwise a random key.

    Raises BadInput if it is too short to be secret.
    """
    shared = os.environ.get(KEY_VARIABLE, "")
    if shared and len(shared) < SHORTEST_KEY:
        raise BadInput(KEY_VARIABLE, f"shorter than {SHORTEST_KEY} characters", "make one with `openssl rand -hex 32`")
    return shared.encode() or secrets.token_bytes()


class Versions:
    """The lake versions of the most recent answers that were not read to the end."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = Lock()

    def note(self, question: str, result: str, version: int) -> None:
        """Record the version of an answer that has more pages."""
        with self._lock:
            self._known[question, result] = version
            self._known.move_to_end((question, result))
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def of(self, question: str, result: str) -> int | None:
        """Return the version of an answer; None if it was forgotten or belongs to another server."""
        with self._lock:
            return self._known.get((question, result))


@dataclass(frozen=True, kw_only=True)
class QueryService:
    """Answers questions with the server's settings. viewpoint: the limit of every call."""

    viewpoint: Viewpoint
    keep_receipts: bool = False
    cursor_key: bytes = field(default_factory=cursor_key, repr=False)
    _versions: Versions = field(default_factory=Versions, repr=False)
    _lanes: Lanes = field(default_factory=Lanes, repr=False)
    _sessions: KeptSessions = field(default_factory=lambda: KeptSessions(LIMITS), repr=False)

    def __post_init__(self) -> None:
        # One lake for all calls, which caches the parts of its log that it has read.
        object.__setattr__(self, "viewpoint", replace(self.viewpoint, lake=self.viewpoint.open_lake()))

    def open_ahead(self) -> None:
        """Open the session of the first call while the client gets ready. For servers with one client."""
        self._sessions.open_ahead(self.viewpoint)

    def viewpoint_of(self, pit: str | None, known_by: str | None) -> Viewpoint:
        """Return the viewpoint of a call.

        Raises BadInput for an instant later than the server's, and for `known_by` if the server has a fixed version.
        """
        viewpoint = self.viewpoint
        if pit is not None:
            viewpoint = viewpoint.at(_up_to("pit", pit, "as of", viewpoint.as_of), "pit")
        if known_by is None:
            return viewpoint
        if viewpoint.version is not None:
            raise BadInput("known_by", "this server answers only from one version of the lake", "leave it out")
        return replace(viewpoint, known_by=_up_to("known_by", known_by, "known by", viewpoint.known_by))

    def contracts(self) -> dict[str, Dataset]:
        """Return the contracts of the server's datasets and mounted tables. Raises the errors of opening a lake."""
        return self.viewpoint.open_lake().contracts()

    def holdings(self, name: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the contents of all datasets or of one at the server's instant, empty ones last; outcomes only in open
        mode.

        Raises the errors of a session.
        """
        if name is not None and self.viewpoint.as_of is not None and self.contracts()[name].open_only:
            return {}
        datasets = self._lanes.ask(self._opening(self.viewpoint, None if name is None else [name]), holdings)
        return {holding.dataset: holding.plain() for holding in datasets}

    def _opening(
        self, viewpoint: Viewpoint, datasets: Collection[str] | None
    ) -> "Callable[[], AbstractContextManager[Session]]":
        return partial(self._sessions.session, viewpoint, datasets)

    def ask(
        self,
        question: ServiceQuestion,
        *,
        pit: str | None,
        max_rows: int | None,
        cursor: str | None,
        known_by: str | None = None,
    ) -> AnswerPage:
        """Answer a question with the page at the cursor. Raises BadInput and the errors of a session."""
        viewpoint = self.viewpoint_of(pit, known_by)
        if max_rows is not None and not 1 <= max_rows <= MOST_ROWS:
            raise BadInput("max_rows", f"not between 1 and {MOST_ROWS}", "read the next page with the cursor")
        as_of, rows = viewpoint.as_of, ROWS if max_rows is None else max_rows
        question_digest = question.digest(viewpoint)
        place = None if cursor is None else Cursor.read(cursor, self.cursor_key)
        if place and place.question != question_digest:
            raise BadInput("cursor", "belongs to another question", "repeat the question's arguments unchanged")
        if place and viewpoint.version is None:
            viewpoint = replace(viewpoint, version=self._versions.of(question_digest, place.result))

        def answered(session: "Session") -> tuple[Provenance, "Result"]:
            result = session.ask(question.question, question.params)
            return Provenance.of(session, result, question.query), result

        datasets = question.query.reads if question.query else question.datasets
        provenance, result = self._lanes.ask(self._opening(viewpoint, datasets), answered)
        result_digest = result.receipt.result_sha256
        if place and place.result != result_digest:
            raise BadInput(
                "cursor", "the answer has changed since the last page", "add ORDER BY over a key and start again"
            )
        start, size = place.row if place else 0, PAGE_BYTES - FRAME_BYTES
        if question.about_gaps:
            answer_page = gaps_page(result.arrow(), as_of, start=start, max_rows=rows, max_bytes=size)
        else:
            answer_page = page(result.arrow(), provenance, as_of, start=start, max_rows=rows, max_bytes=size)
        following = None
        if answer_page.following is not None:
            self._versions.note(question_digest, result_digest, result.receipt.version)
            following = Cursor(answer_page.following, question_digest, result_digest).write(self.cursor_key)
        if self.keep_receipts:
            result.keep()
        return AnswerPage(page=answer_page, cursor=following, result=result)


@dataclass(frozen=True)
class Cursor:
    """The position in an answer: the next row, and the hashes of the question and the whole answer."""

    row: int
    question: str
    result: str

    def write(self, key: bytes) -> str:
        text = json.dumps([*astuple(self), self._signature(key)], separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode()).decode()

    @classmethod
    def read(cls, text: str, key: bytes) -> "Cursor":
        """Parse a cursor. Raises BadInput if it was not signed with this key."""
        try:
            *fields, signature = json.loads(base64.b64decode(text.encode(), altchars=b"-_", validate=True))
            place = cls(*fields)
            if hmac.compare_digest(signature, place._signature(key)):
                return place
        except (ValueError, TypeError, RecursionError):
            pass
        raise BadInput("cursor", "was not issued by this server", "leave it out to start at the beginning")

    def _signature(self, key: bytes) -> str:
        return hmac.new(key, json.dumps(astuple(self)).encode(), "sha256").hexdigest()


def _up_to(field: str, text: str, name: str, bound: datetime | None) -> datetime:
    moment = instant(text, field)
    if bound is not None and moment > bound:
        raise BadInput(field, f"later than the {name} this server was started with", f"give {iso(bound)} or less")
    return moment
