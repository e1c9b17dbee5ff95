"""The door: `connect` opens a session as of an instant, `Session.sql` asks it.

Finds the lake version, remembers what later answers depend on, and turns what can go wrong into the error tree. What
callers give is checked in `arguments`, which files are bound is said by `visible`, how they are sealed by `sealed`.
"""

import re
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache, partial
from importlib.metadata import version as version_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pitlake import machine
from pitlake.clock import iso
from pitlake.contract import Dataset
from pitlake.errors import BadInput, LimitExceeded, QueryFailed, QueryInterrupted, SessionLost
from pitlake.lake.storage.conventions import RELEASE
from pitlake.lake.storage.manifest import Snapshot
from pitlake.questions import catalogue as queries
from pitlake.questions.tickers import Company, Tickers
from pitlake.session import arguments
from pitlake.session.backends import Backend, Indexed
from pitlake.session.contracts import Catalogue
from pitlake.session.limits import Caps, Limits
from pitlake.session.result import OMIT, SHOW, Question, Result, Step
from pitlake.session.sealed.process import Failed, Reply, SealedProcess
from pitlake.session.sql import statements
from pitlake.session.sql.reading import Reading
from pitlake.session.sql.statements import NUMBERED
from pitlake.session.visible.binding import Binding
from pitlake.session.visible.cut_cache import CutCache

if TYPE_CHECKING:
    from pitlake.lake.lake import Lake
    from pitlake.session.arguments import Params, Rows

Isolation = Literal["process", "in_process"]
Hindsight = Literal["show", "omit"]


class Session:
    """What was public at `as_of`, in SQL. One query at a time; `interrupt` and `close` from any thread.

    as_of: aware UTC datetime, None in open mode. version: the lake version, fixed; known_by: the instant it was asked
    for by, if it was. datasets: the bound ones. views: the names of their views, each with its dataset's. newest: the
    newest available_at of each dataset, and of their gaps. lake, filings_count_from: for its receipts. Views:
    `<dataset>` (newest revision per key), `<dataset>_revisions`, `gaps`, `lake_info`; `as_of()` and `now()` answer T.
    """

    def __init__(
        self,
        binding: Binding,
        backend: Backend,
        catalogue: Catalogue,
        limits: Limits,
        beside: "Callable[[], Session] | None" = None,
        index: Indexed | None = None,
    ) -> None:
        self.as_of, self.version = binding.as_of, binding.snapshot.version
        self.datasets = tuple(dataset.name for dataset in binding.datasets)
        self.limits = limits
        self.known_by: datetime | None = None
        self.lake: Lake | None = None
        self.filings_count_from = RELEASE
        self._backend, self._catalogue = backend, catalogue
        self._snapshot = binding.snapshot
        self._bound = {dataset.name: dataset for dataset in binding.datasets}
        self.views = {view: dataset for dataset in self.datasets for view in (dataset, f"{dataset}_revisions")}
        delivered = (*binding.relations[: len(self.datasets)], binding.relations[-1])
        self.newest = {relation.name: relation.watermark for relation in delivered}
        self._tickers: Tickers | None = None
        self._omits, self._beside = beside is not None, beside or (lambda: self)
        self._other: Session | None = None
        self._index = index
        self._prelude: list[Step] = []
        self._lock, self._closed = threading.Lock(), ""

    def sql(
        self,
        query: str,
        params: "Params" = None,
        *,
        max_rows: int | None = None,
        max_bytes: int | None = None,
    ) -> Result:
        """Run SQL; the result of its last statement.

        params: values for `?` (list) or `$name` (dict). max_rows, max_bytes: cut the result there and say so in
        `Result.truncated`; without them a result over the session's limits is refused. Raises QueryFailed,
        LimitExceeded, QueryInterrupted, SessionLost, BadInput; KeyboardInterrupt stops the query, not the session.
        """
        query = arguments.query_text(query)
        return self._ask(query, queries.by_text(query), params, max_rows, max_bytes)

    def _ask(
        self, query: str, named: queries.Query | None, params: "Params", max_rows: int | None, max_bytes: int | None
    ) -> Result:
        params, companies = arguments.resolved(named, params, self.company)
        labels = bool(self._hindsight(query))
        notes = tuple(dict.fromkeys(note for company in companies for note in company.notes_on(labels=labels)))
        if self._omits and named:
            return self._asked_beside(named, params, notes, max_rows, max_bytes)
        packed, written = arguments.packed(params)
        caps = arguments.caps(self.limits, max_rows, max_bytes)
        of_all = isinstance(params, dict) and params.get(queries.COMPANY) is None
        reply, prelude = self._run(Step(sql=query, parameters=written), packed, caps, of_all=of_all)
        question = Question(
            as_of=iso(self.as_of) if self.as_of else None,
            version=self.version,
            known_by=iso(self.known_by) if self.known_by else None,
            datasets=self.datasets,
            sql=query,
            parameters=written,
            max_rows=max_rows,
            max_bytes=max_bytes,
            prelude=prelude,
            engine=_engine(),
            threads=int(self.limits.threads),
            most_rows=int(self.limits.rows),
            most_bytes=int(self.limits.bytes),
            seconds=float(self.limits.seconds),
            memory=int(self.limits.memory),
            hindsight=OMIT if self._omits else SHOW,
            filings_count_from=self.filings_count_from,
        )
        return Result(
            reply.table,
            question,
            truncated=reply.truncated,
            lake=self.lake,
            notes=notes,
            hindsight=self._hindsight(query),
            reading=self._reading(reply),
        )

    def run(self, name: str, /, **values: Any) -> Result:
        """Run a query of the catalogue by name, such as run("news_latest", ticker="NOG"). See `questions.catalogue`.

        Raises BadInput for an unknown query, values it does not take or unbound datasets, and what `sql` raises.
        """
        query = queries.get(name)
        return self.answer(query, query.bind(values))

    def answer(self, query: queries.Query, bound: dict[str, Any]) -> Result:
        """`run` with a query and what its `bind` gave."""
        name = query.name
        if query.today and self.as_of is not None:
            return self._of_today(query, bound)
        if missing := sorted(set(query.reads).difference(self.datasets)):
            raise BadInput(
                "datasets", f"{name} reads {', '.join(missing)}, which is not bound", "open with it, or with all"
            )
        return self._ask(query.sql, query, bound, None, None)

    def load(self, name: str, rows: "Rows") -> None:
        """Your own rows as a temporary table, to join with. rows: Arrow, pandas, polars or a list of dicts.

        Raises BadInput, LimitExceeded, SessionLost.
        """
        name, table, digest = arguments.table(name, rows, self._catalogue.contracts)
        with self._lock:
            try:
                self._live().load(name, table)
            except Failed as failed:
                raise self._error(failed) from None
            except SessionLost as lost:
                self._closed = str(lost)
                raise
            self._prelude.append(Step(sql=f"load {name}", parameters=digest))

    def interrupt(self) -> None:
        """Stop the running query, which raises QueryInterrupted. From any thread."""
        self._live().interrupt()
        if self._index is not None:
            self._index.interrupt()

    def cpu_seconds(self) -> float:
        """The processor's time that the session has taken."""
        return self._backend.cpu_seconds()

    def close(self) -> None:
        """End the session: no process and no file of it stays."""
        self._closed = self._closed or "the session was closed; open a new one"
        if self._other is not None:
            self._other.close()
        if self._index is not None:
            self._index.close()
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        asked = f"as_of={iso(self.as_of)}" if self.as_of else "open_mode=True"
        known = f", known_by={iso(self.known_by)}" if self.known_by else ""
        return f"Session({asked}{known}, version={self.version}, {len(self.datasets)} datasets)"

    def _run(self, step: Step, packed: object, caps: Caps, *, of_all: bool) -> tuple[Reply, tuple[Step, ...]]:
        with self._lock:
            prelude, backend = tuple(self._prelude), self._backend
            try:
                backend, text = self._asked_of(step.sql, of_all=of_all)
                # What changed a session may have put other rows under a view's name; our own texts need no proof.
                views = () if prelude or queries.by_text(step.sql) else self.views
                reply = backend.run(text, packed, caps, views)
            except Failed as failed:
                self._remember(step, stateless=failed.stateless or backend is not self._backend)
                raise self._error(failed) from None
            except SessionLost as lost:
                self._closed = str(lost)
                raise
            except KeyboardInterrupt:
                self._remember(step, stateless=False)
                raise
            self._remember(step, stateless=reply.stateless or backend is not self._backend)
            return reply, prelude

    def _asked_of(self, query: str, *, of_all: bool) -> tuple[Backend, str]:
        """Where to ask it, and in which SQL: a search in a process that has an index too, unless the session was
        changed; one company's texts are read.
        """
        backend, named = self._live(), queries.by_text(query)
        if not of_all or self._prelude or not named or not self._index:
            return backend, query
        found = self._index.of(named)
        self._live()  # or it was closed meanwhile
        return (found, named.by_index) if found else (backend, query)

    def company(self, ticker: str, at: datetime | None = None) -> Company:
        """The company a ticker stands for at the session's instant, or at an earlier one; macros take its `company`."""
        if self._tickers is None:
            self._tickers = Tickers(self._snapshot, self.as_of if self._omits else None)
        return self._tickers.resolve(ticker, at or self.as_of)

    def _asked_beside(
        self,
        query: queries.Query,
        params: "Params",
        notes: tuple[str, ...],
        max_rows: int | None,
        max_bytes: int | None,
    ) -> Result:
        """A named query's answer by a session that shows hindsight, which nobody's SQL reaches; without its columns."""
        if "*" in query.hindsight or query.today:
            raise BadInput("hindsight", f"{query.name} rests on it", 'open a session with hindsight="show"')
        self._other = self._other or self._beside()
        answer = self._other.sql(query.sql, params, max_rows=max_rows, max_bytes=max_bytes)
        question = replace(answer.receipt.question, hindsight=OMIT, datasets=self.datasets)
        kept = [name for name in answer.columns if name not in query.hindsight]
        table = answer.arrow().select(kept)
        return Result(table, question, truncated=answer.truncated, lake=self.lake, notes=notes)

    def _of_today(self, query: queries.Query, bound: dict[str, Any]) -> Result:
        """A snapshot of no instant: asked in open mode, by a session of its own, and said to be so."""
        if self._omits:
            raise BadInput(
                "hindsight", f"{query.name} has columns of hindsight alone", 'open a session with hindsight="show"'
            )
        with open_session(self._snapshot, open_mode=True, datasets=query.reads, limits=self.limits) as session:
            answer = session.sql(query.sql, bound)
        shown = {read: tuple(field.name for field in query.columns) for read in query.reads}
        return Result(
            answer.arrow(),
            answer.receipt.question,
            truncated=answer.truncated,
            lake=self.lake,
            notes=(queries.TODAY, *answer.notes),
            hindsight=shown,
        )

    def _reading(self, reply: Reply) -> Reading:
        """What the process says of what it read, as far as it names views and columns there are."""
        view, views = reply.reading.rows_of, reply.reading.views
        dataset = self._bound.get(self.views.get(view or "", ""))
        columns = {*dataset.agent_columns, *NUMBERED} if dataset else set()
        return Reading(
            view if columns.issuperset(reply.table.column_names) else None,
            views if views and self.views.keys() >= set(views) else None,
        )

    def _hindsight(self, query: str) -> dict[str, tuple[str, ...]]:
        """Of the datasets whose names are in the text, macros of theirs included, the columns that are hindsight."""
        words = {re.sub(r"_(revisions|of)$", "", word) for word in re.findall(r"\w+", query.lower())}
        if "bars_of" in query:
            words.add("prices")
        shown = {} if self._omits else self._bound
        named = [dataset for name, dataset in shown.items() if name in words and dataset.hindsight]
        return {one.name: tuple(name for name in one.agent_columns if name in one.hindsight) for one in named}

    def _remember(self, step: Step, *, stateless: bool) -> None:
        # Once something may have changed the session, reads may too (a SELECT can insert into a table it has made).
        if self._prelude or not stateless:
            self._prelude.append(step)

    def _live(self) -> Backend:
        if self._closed:
            raise SessionLost(self._closed)
        return self._backend

    def _error(self, failed: Failed) -> QueryFailed | LimitExceeded | QueryInterrupted:
        failure = failed.failure
        limit = failure.limit or failed.reason
        if limit:
            next_step = arguments.NEXT_STEP[limit]
            if failure.fatal:
                self._closed = "the session was closed, because a query did not stop; open a new one"
                next_step += "; this session is closed, because the query did not stop"
            return LimitExceeded(limit, getattr(self.limits, limit), next_step)
        if failure.kind == "InterruptException":
            return QueryInterrupted("the query was interrupted")
        contracts = self._catalogue.contracts
        open_only = [name for name, dataset in contracts.items() if dataset.open_only]
        return QueryFailed(
            failure.kind,
            failure.message,
            arguments.hint(failure, self.datasets, list(contracts), open_only, self._left_out),
        )

    @property
    def _left_out(self) -> set[str]:
        return {name for one in self._bound.values() for name in one.hindsight} if self._omits else set()


def connect(  # noqa: PLR0913 - all that a session is asked for
    as_of: str | datetime | None = None,
    *,
    version: int | None = None,
    known_by: str | datetime | None = None,
    lake: "str | Path | Lake | None" = None,
    isolation: Isolation = "process",
    datasets: Collection[str] | None = None,
    open_mode: bool = False,
    hindsight: Hindsight = "show",
    limits: Limits | None = None,
    catalogue: Catalogue | None = None,
) -> Session:
    """Open a session on a lake as of an instant.

    as_of: ISO-8601 with an offset, or an aware datetime. version: a lake version (default: the newest). known_by: the
    version that was the newest at this instant, so that nothing is there which this lake took in later. lake: its root
    (default: $PITLAKE_LAKE, else ./.pitlake/lake). isolation: "process" is sealed; "in_process" is for trusted code.
    datasets: which to bind (default: all). open_mode: ask without an instant, outcomes included. hindsight: "omit"
    leaves out the columns that nobody could know at available_at, such as today's tickers.
    catalogue: contracts and views of a lake that holds others than this installation's; macros over those are left out.
    Raises BadInput (also for an instant in the future), BadInstant, LakeNotFound, MachineExhausted, SessionRefused,
    IsolationUnavailable.
    """
    asked = arguments.moment(as_of, open_mode=open_mode)
    known = arguments.known_by(known_by, version)
    from pitlake.lake.lake import Lake

    opened = lake if isinstance(lake, Lake) else Lake(lake)
    if asked is not None:
        arguments.passed(asked, opened)
    session = open_session(
        arguments.known_snapshot(opened, known) if known else opened.snapshot(arguments.version(version)),
        asked,
        datasets=datasets,
        isolation=isolation,
        open_mode=open_mode,
        hindsight=hindsight,
        limits=limits,
        catalogue=catalogue,
    )
    session.lake, session.known_by, session.filings_count_from = opened, known, opened.filings_count_from
    return session


def open_session(  # noqa: PLR0913 - all that a session is made of
    snapshot: Snapshot,
    as_of: str | datetime | None = None,
    *,
    datasets: Collection[str] | None = None,
    isolation: Isolation = "process",
    open_mode: bool = False,
    hindsight: Hindsight = "show",
    limits: Limits | None = None,
    catalogue: Catalogue | None = None,
    cut_cache: CutCache | None = None,
) -> Session:
    """Open a session on one lake version; the rest as `connect`. cut_cache: where cut files are kept."""
    asked = arguments.moment(as_of, open_mode=open_mode)
    if isolation not in ("process", "in_process"):
        raise BadInput("isolation", f'must be "process" or "in_process", not {isolation!r}', "choose one of the two")
    limits, catalogue = arguments.bounds(limits), catalogue or Catalogue(_installed_contracts())
    omit = arguments.omits(hindsight, open_mode=open_mode)
    cut_cache = cut_cache or CutCache()
    binding = Binding(snapshot, asked, catalogue.choose(arguments.names(datasets), open_mode=open_mode), omit)
    opening = statements.Opening(binding, catalogue.views)
    backend: Backend
    with machine.working_in("a session of the lake", "."):
        if isolation == "process":
            backend = SealedProcess(binding, cut_cache, limits, opening)
        else:
            from pitlake.session.in_process import InProcess

            backend = InProcess(binding, cut_cache, limits, opening)

    def indexed(names: Collection[str], searched: Collection[str]) -> Backend | None:
        chosen = Binding(snapshot, asked, catalogue.choose(names, open_mode=False), indexed=searched)
        opening = statements.Opening(chosen, catalogue.views)
        with machine.working_in("a session of the lake", "."):
            opened = SealedProcess(chosen, cut_cache, limits, opening)
        if opening.indexed or any(relation.mapped for relation in chosen.relations):
            return opened
        opened.close()
        return None

    beside = partial(
        open_session, snapshot, asked, datasets=datasets, isolation=isolation, limits=limits, catalogue=catalogue,
        cut_cache=cut_cache,
    )  # fmt: skip
    many = frozenset(one.name for one in binding.relations if one.rows > cut_cache.few)
    index = Indexed(many, indexed) if asked is not None and isolation == "process" and not omit else None
    return Session(binding, backend, catalogue, limits, beside if omit else None, index)


def _installed_contracts() -> Mapping[str, Dataset]:
    from pitlake.datasets import all_datasets

    return all_datasets()


@cache
def _engine() -> str:
    return f"duckdb {version_of('duckdb')}"
