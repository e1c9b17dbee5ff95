"""The files of a session. The files of its datasets and gaps are chosen, cut, proven and delivered one by one.

`Binding` describes the choice and opens no files. `deliver` opens and proves each file and passes it to the session as
an open descriptor. The two receivers are sealed/process.py and in_process.py.
"""

import os
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import chain

import pyarrow as pa

from pitlake.clock import AVAILABLE_AT, from_micros, micros
from pitlake.contract import GAP_COLUMNS, GAP_SCHEMA, Dataset, gap_table_name
from pitlake.lake.storage.manifest import DataFile, Snapshot
from pitlake.lake.storage.parallel import workers
from pitlake.lake.tables.compacted import Form, form_of_rows, form_of_tombstones, stored_schema
from pitlake.session.visible import footer, words
from pitlake.session.visible.cut_cache import CutCache
from pitlake.session.visible.cuts import Cut, open_file
from pitlake.session.visible.plan import Choice, Period, choose
from pitlake.tombstones import SUPERSEDED_SCHEMA, superseded_table_name

_CUTTERS = 2
Take = Callable[[int], int]
"""A function that takes a file as an open descriptor and returns its number. The descriptor is closed afterwards."""


@dataclass
class Delivery:
    """The delivered files of one cut: the numbers of the files with rows, and facts about their content.

    newest: the newest available_at, in microseconds. by_name: whether a file lacks a column.
    """

    cut: Cut | None = None
    numbers: list[int] = field(default_factory=list)
    rows: int = 0
    newest: int | None = None
    by_name: bool = False

    def is_of(self, cut: Cut) -> bool:
        """Return whether a later session would receive exactly the same files for a cut."""
        return self.cut is not None and not cut.parts and replace(self.cut, bound=None) == replace(cut, bound=None)


@dataclass(kw_only=True)
class Relation:
    """One table of a session: the files of its cuts, or in open mode whole files of the lake.

    stored: the schema of the lake's rows. schema: the schema of cuts. numbers, rows, newest and by_name combine those
    of its deliveries and are available once all files are delivered.
    """

    name: str
    columns: tuple[str, ...]
    stored: pa.Schema
    schema: pa.Schema
    cuts: tuple[Cut, ...]
    whole: tuple[DataFile, ...] = ()
    bound: int | None
    deliveries: list[Delivery] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    rows: int = 0
    newest: int | None = None
    by_name: bool = False

    @property
    def mapped(self) -> bool:
        """Return whether its files are Arrow files, which are mapped."""
        return any(cut.mapped for cut in self.cuts)

    @property
    def registered(self) -> str:
        """Return the name of the relation's rows if DuckDB receives rows instead of paths."""
        return f"files_of_{self.name}"

    @property
    def watermark(self) -> datetime | None:
        """Return the newest available_at among the delivered rows."""
        return None if self.newest is None else from_micros(self.newest)

    def add(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)
        # The newest file is listed first. A question about the newest rows finds them there immediately, and the bounds
        # of all other files show that they have none.
        self.numbers[:0] = reversed(delivery.numbers)
        self.rows += delivery.rows
        self.newest = _newer(self.newest, delivery.newest)
        self.by_name |= delivery.by_name


@dataclass
class Binding:
    """All files that a session is bound to. `relations`: the datasets in order, then tombstones, then words, then gaps.

    superseded: the tombstones by dataset, if the lake version has them. indexed: the datasets to search, whose word
    indexes are included and whose vectors are mapped. words: the word indexes, by dataset. omit: whether hindsight
    columns are left out of the files.
    """

    snapshot: Snapshot
    as_of: datetime | None
    datasets: Sequence[Dataset]
    omit: bool = False
    indexed: Collection[str] = ()
    relations: list[Relation] = field(default_factory=list)
    superseded: dict[str, Relation] = field(default_factory=dict)
    words: dict[str, Relation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = [self._rows(dataset) for dataset in self.datasets]
        self.superseded = {}
        for dataset in self.datasets:
            table = superseded_table_name(dataset.name)
            # Without rows nothing can be superseded. A table that exists only because of later rows has no effect.
            if table not in self.snapshot.tables and self.snapshot.files(dataset.name):
                continue
            choice = choose(self.snapshot.files(table), self.as_of, by_year=True)
            years = Cut(
                table=table,
                periods=choice.years,
                stored=SUPERSEDED_SCHEMA,
                form=form_of_tombstones(),
                until=None,
                bound=self._bound,
            )
            name, columns = f"superseded_{dataset.name}", tuple(SUPERSEDED_SCHEMA.names)
            self.superseded[dataset.name] = self._relation(name, columns, years, choice)
        self.words = {
            dataset.name: replace(
                relation,
                name=f"{dataset.name}_words",
                columns=tuple(words.SCHEMA.names),
                schema=words.SCHEMA,
                cuts=tuple(replace(cut, indexes=dataset.searched) for cut in relation.cuts),
                whole=(),
                deliveries=[],
                numbers=[],
            )
            for dataset, relation in zip(self.datasets, rows, strict=True)
            if dataset.searched and dataset.name in self.indexed and dataset.name in self.superseded
        }
        self.relations = [*rows, *self.superseded.values(), *self.words.values(), self._gaps()]

    def deliver(self, cut_cache: CutCache, take: Take, earlier: "Binding | None" = None) -> None:
        """Open and prove every file, and deliver those with rows.

        earlier: the binding of the same datasets at an earlier instant; files delivered for it are not delivered again.
        Raises SessionRefused if the session must not be opened.
        """
        deliveries = {relation.name: relation.deliveries for relation in earlier.relations} if earlier else {}
        parts = [(relation, cut, next((each for each in deliveries.get(relation.name, ()) if each.is_of(cut)), None))
                 for relation in self.relations for cut in relation.cuts]  # fmt: skip
        new_files = chain.from_iterable(cut.files for _, cut, taken in parts if taken is None)
        self.snapshot.fetch(chain(chain.from_iterable(relation.whole for relation in self.relations), new_files))
        make_cut = partial(cut_cache.open, at_once=1 if len(self.datasets) > 1 else workers())
        with ThreadPoolExecutor(_CUTTERS) as cutters:
            cutting = deque[tuple[Relation, Cut, Delivery | None, Future[list[int]]]]()
            try:
                for relation, cut, taken in parts:
                    cached = [] if taken else cut_cache.open_again(cut)
                    if cached is None:
                        promised = cutters.submit(make_cut, cut)
                    else:
                        promised = Future()
                        promised.set_result(cached)
                    cutting.append((relation, cut, taken, promised))
                for relation in self.relations:
                    for file in relation.whole:
                        delivery = Delivery()
                        _give(relation, delivery, open_file(file.path, relation.name), take, file)
                        relation.add(delivery)
                while cutting:
                    relation, cut, taken, promised = cutting[0]
                    descriptors = deque(promised.result())
                    cutting.popleft()
                    relation.add(taken or _give_made(relation, cut, descriptors, take))
            finally:
                for *_, promised in cutting:
                    promised.cancel()
                    promised.add_done_callback(_close_result)

    def _rows(self, dataset: Dataset) -> Relation:
        choice = choose(self.snapshot.files(dataset.name), self.as_of)
        left_out = dataset.hindsight if self.omit else frozenset()
        years = Cut(
            table=dataset.name,
            periods=choice.years,
            stored=dataset.arrow_schema,
            form=form_of_rows(dataset).without(left_out),
            until=None,
            bound=self._bound,
            mapped=dataset.has_vectors and dataset.name in self.indexed,
        )
        columns = tuple(name for name in dataset.session_columns if name not in left_out)
        return self._relation(dataset.name, columns, years, choice)

    def _relation(self, name: str, columns: tuple[str, ...], years: Cut, choice: Choice) -> Relation:
        cuts = [years] if choice.years else []
        if choice.months:
            first, last = choice.months[0], choice.months[-1]
            cuts.append(replace(years, periods=choice.months, since=first.since, until=last.until))
        if choice.edge.files:
            edge = replace(years, periods=(choice.edge,), since=choice.edge.since, parts=choice.parts)
            cuts.append(replace(edge, until=self._bound if choice.straddles else None))
        return Relation(
            name=name,
            columns=columns,
            stored=years.stored,
            schema=years.form.schema,
            cuts=tuple(cuts),
            whole=choice.whole,
            bound=self._bound,
        )

    def _gaps(self) -> Relation:
        # Gaps are cut in open mode too, to leave out run ids and the lake's own times.
        choices = [choose(self.snapshot.files(gap_table_name(dataset.name)), self.as_of) for dataset in self.datasets]
        past = tuple(
            file
            for choice in choices
            for file in (*choice.whole, *chain(*(period.files for period in (*choice.years, *choice.months))))
        )
        edge = tuple(file for choice in choices for file in choice.edge.files)
        # A locator may contain today's ticker, from the request or from the source's name for the record.
        columns = tuple(name for name in GAP_COLUMNS if not (self.omit and name == "locator"))
        schema = pa.schema([GAP_SCHEMA.field(name) for name in columns])
        order = ("dataset", AVAILABLE_AT, "gap_type", "locator", "reason")
        closed = Cut(
            table="gaps",
            periods=(Period(past),),
            stored=GAP_SCHEMA,
            form=Form(schema, tuple(name for name in order if name in columns)),
            until=None,
            bound=self._bound,
        )
        until = self._bound if any(choice.straddles for choice in choices) else None
        return Relation(
            name="gaps",
            columns=columns,
            stored=GAP_SCHEMA,
            schema=schema,
            cuts=(closed, replace(closed, periods=(Period(edge),), until=until)),
            bound=self._bound,
        )

    @property
    def _bound(self) -> int | None:
        return None if self.as_of is None else micros(self.as_of)


def _newer(first: int | None, second: int | None) -> int | None:
    return max((each for each in (first, second) if each is not None), default=None)


def _give_made(relation: Relation, cut: Cut, descriptors: deque[int], take: Take) -> Delivery:
    delivery = Delivery(cut)
    try:
        while descriptors:
            _give(relation, delivery, descriptors.popleft(), take)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    return delivery


def _give(relation: Relation, delivery: Delivery, descriptor: int, take: Take, whole: DataFile | None = None) -> None:
    try:
        facts = footer.read(descriptor)
        if whole is not None:  # Files made by a cut were proven when they were opened.
            stored = stored_schema(whole, relation.stored)
            footer.prove(facts, relation.name, relation.bound, stored, whole.rows)
        if not facts.rows:
            return
        delivery.numbers.append(take(descriptor))
        delivery.rows += facts.rows
        delivery.newest = _newer(delivery.newest, facts.newest)
        delivery.by_name |= not facts.columns.issuperset(relation.columns)
    finally:
        os.close(descriptor)


def _close_result(promised: Future[list[int]]) -> None:
    if not promised.cancelled() and promised.exception() is None:
        for descriptor in promised.result():
            os.close(descriptor)
