"""Where the MCP server's questions are asked: one sealed session a question, and the answer a page at a time.

A session of its own means that nothing one call does is seen by another. A cursor goes on with the same answer, or says
that it is another. It is signed, and names no lake version, which counts what came after the instant too: the service
remembers which version gave which answer. No MCP here: `tools` puts these answers into its results.
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import astuple, dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from pitlake.answers.contents import holdings
from pitlake.answers.page import Page, gaps_page, page
from pitlake.answers.provenance import Provenance
from pitlake.clock import instant, iso, past
from pitlake.datasets import get
from pitlake.errors import BadInput
from pitlake.mcp.lanes import Lanes
from pitlake.questions.catalogue import Query
from pitlake.session import Limits, connect
from pitlake.session.arguments import query_text

if TYPE_CHECKING:
    from pitlake.session import Result, Session

ROWS, MOST_ROWS = 100, 1000
PAGE_BYTES = 256 * 1024
FRAME_BYTES = 1024  # what stands around the rows of a page: receipt, cursor
REMEMBERED = 10_000
KEY_VARIABLE, SHORTEST_KEY = "PITLAKE_CURSOR_KEY", 32
LIMITS = Limits(rows=100_000, bytes=64 << 20, seconds=30.0, memory=4 << 30)

GAPS = """
SELECT gap_type, reason, dataset, locator, available_at
FROM gaps
WHERE $dataset::VARCHAR IS NULL OR dataset = $dataset
ORDER BY available_at DESC, dataset, gap_type, reason, locator
"""


@dataclass(frozen=True, kw_only=True)
class ServiceQuestion:
    """SQL and what it is bound to. query: the named one it is; datasets: which the session needs, None for all.
    about_gaps: asks the gaps. Raises BadInput for a text that no session takes.
    """

    sql: str
    params: dict[str, Any] | None = None
    query: Query | None = None
    datasets: Collection[str] | None = None
    about_gaps: bool = False

    def __post_init__(self) -> None:
        query_text(self.sql)

    def ask(self, session: "Session") -> "Result":
        """The session's answer."""
        if self.query is None:
            return session.sql(self.sql, self.params)
        return session.answer(self.query, self.params or {})

    def digest(self, *instants: datetime | None) -> str:
        """What a cursor recognises the question by, asked as of and known by these instants."""
        told = [self.sql, self.params, *(iso(one) if one else None for one in instants), self.about_gaps]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:32]


@dataclass(frozen=True, kw_only=True)
class AnswerPage:
    """One page of an answer. `cursor` goes on, None at the end."""

    page: Page
    cursor: str | None
    result: "Result"


def cursor_key() -> bytes:
    """What cursors are signed with: $PITLAKE_CURSOR_KEY, for servers that share clients, else a key nobody else has.

    Raises BadInput for one too short to be secret.
    """
    shared = os.environ.get(KEY_VARIABLE, "")
    if shared and len(shared) < SHORTEST_KEY:
        raise BadInput(KEY_VARIABLE, f"shorter than {SHORTEST_KEY} characters", "make one with `openssl rand -hex 32`")
    return shared.encode() or secrets.token_bytes()


class Versions:
    """Which lake version gave which answer last, of the last answers that were not told to the end."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._lock = Lock()

    def note(self, question: str, result: str, version: int) -> None:
        """An answer that goes on."""
        with self._lock:
            self._known[question, result] = version
            self._known.move_to_end((question, result))
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)

    def of(self, question: str, result: str) -> int | None:
        """The version of an answer; None for one that was forgotten, or given by another server."""
        with self._lock:
            return self._known.get((question, result))


@dataclass(frozen=True, kw_only=True)
class QueryService:
    """What a server was started with. as_of: None is open mode. version, known_by: None is the newest version at each
    question; one of them at most.
    """

    lake: str | Path | None = None
    as_of: datetime | None = None
    version: int | None = None
    known_by: datetime | None = None
    isolation: Any = "process"
    hindsight: Any = "show"
    keep_receipts: bool = False
    cursor_key: bytes = field(default_factory=cursor_key, repr=False)
    _versions: Versions = field(default_factory=Versions, repr=False)
    _lanes: Lanes = field(default_factory=Lanes, repr=False)

    def at(self, pit: str | None) -> datetime | None:
        """The instant to answer at. Raises BadInput for a `pit` that is not an instant or later than the server's."""
        return _earlier("pit", pit, "as of", self.as_of)

    def known(self, known_by: str | None) -> datetime | None:
        """The instant by whose lake to answer. Raises BadInput for one that isn't an instant, later than the server's,
        or asked of a server that was started with one version.
        """
        if known_by is not None and self.version is not None:
            raise BadInput("known_by", "this server answers from one version of the lake", "leave it out")
        return _earlier("known_by", known_by, "known by", self.known_by)

    def holdings(self, name: str | None = None) -> dict[str, dict[str, Any]]:
        """What the server's own instant has of each dataset, or of one, empty ones last; without what it never shows.

        Raises whatever a session raises.
        """
        if name is not None and self.as_of is not None and get(name).open_only:
            return {}
        names = None if name is None else [name]
        found = self._lanes.ask(partial(self._session, self.as_of, self.version, self.known_by, names), holdings)
        return {one.dataset: one.plain() for one in found}

    def _session(
        self, as_of: datetime | None, version: int | None, known: datetime | None, names: Collection[str] | None
    ) -> "Session":
        return connect(
            as_of,
            version=version,
            known_by=known if version is None else None,
            lake=self.lake,
            isolation=self.isolation,
            datasets=names,
            open_mode=as_of is None,
            hindsight=self.hindsight if as_of else "show",
            limits=LIMITS,
        )

    def ask(
        self,
        question: ServiceQuestion,
        *,
        pit: str | None,
        max_rows: int | None,
        cursor: str | None,
        known_by: str | None = None,
    ) -> AnswerPage:
        """Ask, and answer with the page the cursor points at. Raises BadInput and whatever a session raises."""
        as_of, known = self.at(pit), self.known(known_by)
        if question.query is not None:
            question.query.refuse_if_bound(as_of)
        rows = _row_cap(max_rows)
        asked = question.digest(as_of, known)
        place = None if cursor is None else _place(cursor, asked, self.cursor_key)
        version = self._versions.of(asked, place.result) if place and self.version is None else self.version
        opened = partial(self._session, as_of, version, known, question.datasets)

        def answered(session: "Session") -> tuple[Provenance, "Result"]:
            session.known_by = known
            result = question.ask(session)
            return Provenance.of(session, result, question.query), result

        provenance, result = self._lanes.ask(opened, answered)
        as_of = as_of if result.receipt.as_of else None
        found = result.receipt.result_sha256
        if place and place.result != found:
            raise BadInput(
                "cursor", "the answer has changed since the last page", "add ORDER BY over a key and start again"
            )
        start, size = place.row if place else 0, PAGE_BYTES - FRAME_BYTES
        if question.about_gaps:
            shown = gaps_page(result.arrow(), as_of, start=start, max_rows=rows, max_bytes=size)
        else:
            shown = page(result.arrow(), provenance, as_of, start=start, max_rows=rows, max_bytes=size)
        following = None
        if shown.following is not None:
            self._versions.note(asked, found, result.receipt.version)
            following = Cursor(shown.following, asked, found).write(self.cursor_key)
        if self.keep_receipts:
            result.keep(self.lake)
        return AnswerPage(page=shown, cursor=following, result=result)


@dataclass(frozen=True)
class Cursor:
    """Where an answer goes on: the next row, and the hashes of the question and the whole answer."""

    row: int
    question: str
    result: str

    def write(self, key: bytes) -> str:
        """The cursor as an agent carries it, signed."""
        told = json.dumps([*astuple(self), self._signature(key)], separators=(",", ":"))
        return base64.urlsafe_b64encode(told.encode()).decode()

    @classmethod
    def read(cls, text: str, key: bytes) -> "Cursor":
        """The cursor an agent brings back. Raises BadInput when it was not signed with this key."""
        try:
            *told, signature = json.loads(base64.b64decode(text.encode(), altchars=b"-_", validate=True))
            place = cls(*told)
            if hmac.compare_digest(signature, place._signature(key)):
                return place
        except (ValueError, TypeError, RecursionError):
            pass
        raise BadInput("cursor", "is not one of this server's", "leave it out to start at the beginning")

    def _signature(self, key: bytes) -> str:
        return hmac.new(key, json.dumps(astuple(self)).encode(), "sha256").hexdigest()


def _place(cursor: str, asked: str, key: bytes) -> Cursor:
    place = Cursor.read(cursor, key)
    if place.question != asked:
        raise BadInput("cursor", "belongs to another question", "repeat the question's arguments unchanged")
    return place


def _earlier(field: str, given: str | None, name: str, bound: datetime | None) -> datetime | None:
    """The instant a call names, where it names one, and the server's own otherwise."""
    if given is None:
        return bound
    if bound is None:
        return past(given, field)
    asked = instant(given, field)
    if asked > bound:
        raise BadInput(field, f"later than the {name} this server was started with", f"give {iso(bound)} or less")
    return asked


def _row_cap(max_rows: int | None) -> int:
    if max_rows is None:
        return ROWS
    if not 1 <= max_rows <= MOST_ROWS:
        raise BadInput("max_rows", f"not between 1 and {MOST_ROWS}", "page on with the cursor")
    return max_rows
