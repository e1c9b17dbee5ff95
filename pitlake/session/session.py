"""Sessions: SQL and catalogue queries over what was public at an instant. `api.connect` opens one.

A session records the actions on which later answers depend, and turns failures into pitlake's errors. `viewpoint` and
`arguments` check what callers pass, `visible` selects the files, and `sealed` seals the process.
"""

import re
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from importlib.metadata import version as version_of
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from pitlake.clock import iso
from pitlake.errors import BadInput, LimitExceeded, QueryFailed, QueryInterrupted, SessionLost, choice
from pitlake.questions import catalogue as queries
from pitlake.questions.catalogue import Query
from pitlake.questions.polled_days import days_of_dividends
from pitlake.questions.tickers import Company, Tickers
from pitlake.session import arguments
from pitlake.session.backends import Backend
from pitlake.session.limits import Caps
from pitlake.session.opener import AtInstant, Opener
from pitlake.session.result import Question, Result, Step
from pitlake.session.sealed.process import Failed, Reply
from pitlake.session.sql.reading import Reading
from pitlake.session.sql.statements import NUMBERED, Opening
from pitlake.session.viewpoint import OMIT, Viewpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pitlake.contract import Dataset
    from pitlake.session.arguments import Params, Rows

OTHER_NAMES = dict.fromkeys(("register", "from_df"), 'load a frame with session.load("mine", frame)') | {
    "cursor": "session.sql(query, parameters) answers a query",
    "tables": "session.datasets are the names of its views",
    "panel": "`pitlake panel` makes one",
}
"""Replacements for the methods of other libraries."""

_SYSTEM_TABLE = re.compile(r'\nDid you mean "(?:pg|duckdb|sqlite|pragma)_\w+"\?')
"""DuckDB's suggestion of one of its own tables."""


class Session:
    """What was public at `as_of`, in SQL. It runs one query at a time; `interrupt` and `close` may be called from any
    thread.

    viewpoint: the session's instant, lake and options. version: the lake version, fixed. datasets: the names of the
    bound datasets. views: the names of their views, each with its dataset. unions: the views over several datasets.
    newest: the newest available_at of each dataset and of its gaps. conventions: the lake's rules that date filings and
    bars, for receipts. on_result: called with each answer. on_advance: called with each instant passed to `advance`,
    which it may refuse. SQL sees `<dataset>` (newest revision per key), `<dataset>_revisions`, `gaps` and `lake_info`;
    `as_of()` and `now()` return T.
    """

    def __init__(
        self, viewpoint: Viewpoint, opener: Opener, *, conventions: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.viewpoint, self.version = viewpoint, opener.snapshot.version
        self.datasets = tuple(dataset.name for dataset in opener.datasets)
        self.limits = opener.limits
        self._conventions = conventions
        self._opener, self._catalogue = opener, opener.catalogue
        self._snapshot = opener.snapshot
        self._bound = {dataset.name: dataset for dataset in opener.datasets}
        self.views = {view: dataset for dataset in self.datasets for view in (dataset, f"{dataset}_revisions")}
        self._omits = viewpoint.hindsight == OMIT
        self._prelude: list[Step] = []
        self._lock, self._closed, self._ended = threading.Lock(), "", False
        self.on_result: Callable[[Result], None] | None = None
        self.on_advance: Callable[[datetime], None] | None = None
        self._look(viewpoint, opener.open(viewpoint.as_of))

    @property
    def as_of(self) -> datetime | None:
        """Return the session's instant; None in open mode."""
        return self.viewpoint.as_of

    @property
    def contracts(self) -> "Mapping[str, Dataset]":
        """Return the contracts of the bound datasets, by name."""
        return self._bound

    @property
    def known_by(self) -> datetime | None:
        """Return the instant that selected the lake version, if any."""
        return self.viewpoint.known_by

    def sql(
        self, query: str, params: "Params" = None, *, max_rows: int | None = None, max_bytes: int | None = None
    ) -> Result:
        """Run SQL and return the result of its last statement. See `ask`."""
        return self.ask(query, params, max_rows=max_rows, max_bytes=max_bytes)

    execute = sql  # for `pl.read_database` and users of DuckDB

    def run(self, name: str, /, *places: Any, **values: Any) -> Result:
        """Run a catalogue query by name, such as run("news_latest", ticker="QBG"). See `questions.catalogue`.

        places: values of the first parameters, in the order of the catalogue. Raises BadInput for an unknown query,
        invalid parameters or unbound datasets, and the errors of `ask`.
        """
        query = queries.get(name)
        names = [parameter.name for parameter in query.parameters]
        if len(places) > len(names) or not values.keys().isdisjoint(names[: len(places)]):
            problem = f"{name} takes {', '.join(names) or 'none'}"
            raise BadInput("values", problem, "give each of them once, by its name")
        return self.ask(query, query.bind(dict(zip(names, places, strict=False)) | values))

    def __getitem__(self, view: str) -> Result:
        """Return the rows of a view."""
        if view not in self.views and view not in self.unions:
            raise KeyError(f"there is no view {view!r}; {choice(str(view), (*self.views, *self.unions))}")
        return self.sql(f'FROM "{view}"')

    def __getattr__(self, name: str) -> Result:
        if name in self.__dict__.get("views", ()) or name in self.__dict__.get("unions", ()):
            return self[name]
        raise AttributeError(f"a session has no {name!r}; {OTHER_NAMES.get(name, 'its `datasets` are its views')}")

    def ask(
        self,
        question: str | Query,
        params: "Params" = None,
        *,
        max_rows: int | None = None,
        max_bytes: int | None = None,
    ) -> Result:
        """Answer SQL, or a query of the catalogue.

        Args: question: SQL text, whose last statement's result is returned, or a catalogue query. params: Values
        for `?` (list) or `$name` (dict); for a catalogue query the result of its `bind`. max_rows: Cut the result at
        this number and set `Result.truncated`. Without it and `max_bytes`, a result over the session's limits is
        refused. max_bytes: The same limit in bytes.

        Raises:
            QueryFailed, LimitExceeded, QueryInterrupted, SessionLost, BadInput: See `pitlake.errors`.
            KeyboardInterrupt: Stops the query, not the session.
        """
        query = question if isinstance(question, Query) else None
        text = arguments.query_text(question) if query is None else query.sql
        if query is not None:
            self._refuse(query)
        params, companies = arguments.resolved(query, params, self.company, self._polled)
        hindsight = self._hindsight(text)
        notes = tuple(dict.fromkeys(note for company in companies for note in company.notes_on(labels=bool(hindsight))))
        model = self.viewpoint.model
        packed, parameters = arguments.packed(params)
        caps = arguments.caps(self.limits, max_rows, max_bytes)
        of_all = isinstance(params, dict) and params.get(queries.COMPANY) is None
        reply, prelude = self._run(Step(sql=text, parameters=parameters), query, packed, caps, of_all=of_all)
        table = reply.table
        if query is not None and self._omits:
            table = table.select([name for name in table.column_names if name not in query.hindsight])
        asked_question = Question(
            as_of=iso(self.as_of) if self.as_of else None,
            version=self.version,
            known_by=iso(self.known_by) if self.known_by else None,
            datasets=self.datasets,
            query=query.name if query else None,
            sql=text,
            parameters=parameters,
            max_rows=max_rows,
            max_bytes=max_bytes,
            prelude=prelude,
            engine=_engine(),
            threads=int(self.limits.threads),
            most_rows=int(self.limits.rows),
            most_bytes=int(self.limits.bytes),
            seconds=float(self.limits.seconds),
            memory=int(self.limits.memory),
            hindsight=self.viewpoint.hindsight,
            model=model.name if model else None,
            exposure=model.judge(self.as_of)[0] if model else None,
            **self._conventions,
        )
        result = Result(
            table,
            asked_question,
            truncated=reply.truncated,
            lake=self.viewpoint.lake,
            notes=notes,
            hindsight=hindsight,
            reading=self._reading(reply),
        )
        if self.on_result is not None:
            self.on_result(result)
        return result

    def load(self, name: str, rows: "Rows") -> None:
        """Load your own rows as a temporary table, to join with. rows: Arrow, pandas, polars or a list of dicts.

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

    def advance(self, as_of: str | datetime) -> None:
        """Move to a later instant of the same lake version.

        The session is then the same as a session opened at that instant.

        Everything made in it (loaded rows, tables, macros, variables) is dropped. A lost session works again.

        Raises:
            BadInput, BadInstant: For an earlier instant, one in the future, and in open mode.
            SessionLost: If the session was closed.
            LakeError, MachineExhausted, SessionRefused: As when opening. The session is lost, but can be moved again.
        """
        if self.as_of is None:
            raise BadInput("as_of", "this session is in open mode", "open one as of an instant")
        viewpoint = self.viewpoint.at(as_of)
        moment = viewpoint.as_of or self.as_of
        if moment < self.as_of:
            problem = f"{iso(moment)} is before {iso(self.as_of)}, the instant of this session"
            raise BadInput("as_of", problem, "open another session, because this one has shown later rows")
        if self.on_advance is not None:
            self.on_advance(moment)
        with self._lock:
            self._not_ended()
            unchanged = not self._prelude and not self._closed
            if unchanged and moment == self.as_of:
                return
            self._closed = "the session could not be moved to the later instant; move it again, or open a new one"
            self._look(viewpoint, self._opener.advance(self._at, moment, keep=unchanged))
            self._prelude.clear()
            self._closed = ""
            self._not_ended()

    def _not_ended(self) -> None:
        """Raise SessionLost if the caller closed the session, even during a move."""
        if self._ended:
            self.close()
            raise SessionLost(self._closed)

    def _look(self, viewpoint: Viewpoint, at: AtInstant) -> None:
        """Use these backends and this viewpoint from now on."""
        binding = at.binding
        self.viewpoint, self._at = viewpoint, at
        usual = {*Opening(binding, self._catalogue.views).usual}
        self.unions = {name: union for name, union in queries.unions().items()
                       if name not in self._bound and usual.issuperset(union.reads)}  # fmt: skip
        self._backend, self._index, self._with_hindsight = at.backend, at.index, at.with_hindsight
        delivered = (*binding.relations[: len(self.datasets)], binding.relations[-1])
        self.newest = {relation.name: relation.watermark for relation in delivered}
        self._tickers: Tickers | None = None

    def open_index(self, query: Query) -> None:
        """Open the process in which a query searches all companies by an index, and build the index if necessary."""
        with self._lock:
            self._backend_for(query, of_all=True)

    def interrupt(self) -> None:
        """Stop the running query, which then raises QueryInterrupted. Callable from any thread."""
        self._live().interrupt()
        for processes in filter(None, (self._index, self._with_hindsight)):
            processes.interrupt()

    @property
    def is_as_opened(self) -> bool:
        """Return whether the session is open and no statement has changed it in a way that affects later answers."""
        return not self._closed and not self._prelude and self._backend.alive

    def resident_bytes(self) -> int:
        """Return the memory that the session's own process uses now, in bytes."""
        return self._backend.resident_bytes()

    def cpu_seconds(self) -> float:
        """Return the processor time that the session has used, in seconds."""
        return self._backend.cpu_seconds()

    def close(self) -> None:
        """End the session, its processes and its files."""
        self._ended, self._closed = True, self._closed or "the session was closed; open a new one"
        for processes in filter(None, (self._index, self._with_hindsight)):
            processes.close()
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        mode = f"as_of={iso(self.as_of)}" if self.as_of else "open_mode=True"
        known_by = f", known_by={iso(self.known_by)}" if self.known_by else ""
        return f"Session({mode}{known_by}, version={self.version}, {len(self.datasets)} datasets)"

    def _refuse(self, query: Query) -> None:
        """Raise BadInput for a query that reads an unbound dataset, or that this session can't answer."""
        if missing := sorted(set(query.reads).difference(self.datasets)):
            problem = f"{query.name} reads {', '.join(missing)}, which is not bound"
            raise BadInput("datasets", problem, "open with it, or with all")
        if self._omits and "*" in query.hindsight:
            problem = f"{query.name} needs columns that are known only with hindsight"
            raise BadInput("hindsight", problem, 'open a session with hindsight="show"')

    def _run(
        self, step: Step, query: Query | None, packed: object, caps: Caps, *, of_all: bool
    ) -> tuple[Reply, tuple[Step, ...]]:
        with self._lock:
            prelude, backend = tuple(self._prelude), self._backend
            try:
                backend, text = self._backend_for(query, of_all=of_all) if query else (self._live(), step.sql)
                # Earlier statements may have changed the rows under a view's name. Catalogue queries need no proof.
                views = () if prelude or query else (*self.views, *self.unions)
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
            own = backend is self._backend
            self._remember(step, stateless=reply.stateless or not own)
            return reply, prelude if own else ()

    def _backend_for(self, query: Query, *, of_all: bool) -> tuple[Backend, str]:
        """Return the backend of a catalogue query, and the query's SQL there.

        A search of all companies runs in a process with an index, unless a statement changed the session. In a session
        without hindsight, queries run in a separate process that has the hindsight columns, because rows without a CIK
        are found by their tickers.
        """
        backend = self._live()
        if self._index and of_all and (self._omits or not self._prelude) and (indexed := self._index.of(query)):
            self._live()  # This raises an error if the session was closed meanwhile.
            return indexed, query.by_index
        if self._with_hindsight and (complete := self._with_hindsight.of(query)):
            self._live()
            return complete, query.sql
        return backend, query.sql

    def company(self, ticker: str, at: datetime | None = None) -> Company:
        """Return the company of a ticker at the session's instant or an earlier one, using the macro `company`."""
        return self._known_tickers().resolve(ticker, at or self.as_of)

    def _known_tickers(self) -> Tickers:
        if self._tickers is None:
            self._tickers = Tickers(self._snapshot, self.as_of if self._omits else None)
        return self._tickers

    def _polled(self, ticker: str, company: Company) -> str:
        lake = self.viewpoint.open_lake()
        return days_of_dividends(
            lake, self._snapshot, self._known_tickers(), ticker, company.ciks, self.as_of, self.known_by
        )

    def _reading(self, reply: Reply) -> Reading:
        """Return the views and columns that the process reports as read, without unknown names."""
        view, names = reply.reading.rows_of or "", reply.reading.views or ()
        dataset, union = self._bound.get(self.views.get(view, "")), self.unions.get(view)
        columns = {*dataset.agent_columns, *NUMBERED} if dataset else {*(union.columns if union else ())}
        views = {read for name in names for read in (self.unions[name].reads if name in self.unions else (name,))}
        return Reading(
            view if view and columns.issuperset(reply.table.column_names) else None,
            tuple(sorted(views)) if views and self.views.keys() >= views else None,
        )

    def _hindsight(self, query: str) -> dict[str, tuple[str, ...]]:
        """Return the hindsight columns of the datasets named in the query, directly or in a macro."""
        words = set(re.findall(r"\w+", query.lower()))
        names = {word.removesuffix("_revisions") for word in words} | queries.macro_reads(words)
        datasets = {} if self._omits else self._bound
        marked = [dataset for name, dataset in datasets.items() if name in names and dataset.hindsight]
        return {
            dataset.name: tuple(name for name in dataset.agent_columns if name in dataset.hindsight)
            for dataset in marked
        }

    def _remember(self, step: Step, *, stateless: bool) -> None:
        # After a statement that may change the session, a read may change it too: a SELECT can insert into a new table.
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
        left_out = {name for dataset in self._bound.values() for name in dataset.hindsight} if self._omits else set()
        return QueryFailed(
            failure.kind,
            _SYSTEM_TABLE.sub("", failure.message),
            arguments.hint(failure, self.datasets, list(contracts), open_only, left_out),
        )


@cache
def _engine() -> str:
    return f"duckdb {version_of('duckdb')}"
