"""Panels: one row per company and instant, one column per field. Each value is as it was known at the row's instant.

`panel` is the Python interface; `PanelQuestion.parse` checks the arguments of every interface. The values come from the
named queries `line_items_as_of_event` and `prices_as_of_event`.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from pitlake import clock
from pitlake.answers import own_fields
from pitlake.answers.valuation import BARS, RATIOS, Valuation, inputs
from pitlake.errors import BadInput, choice
from pitlake.questions import catalogue, line_items
from pitlake.questions.parameters import spell

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    import polars as pl

    from pitlake.lake.lake import Lake
    from pitlake.session import Viewpoint
    from pitlake.session.result import Receipt, Result
    from pitlake.session.viewpoint import Hindsight, Isolation

ITEMS = "line_items_as_of_event"
BAR_FIELDS = {
    "open": "open",
    "high": "high",
    "low": "low",
    "close": "close",
    "volume": "volume",
    "split_index": "split_index",
    "price_date": "date",
    "price_source": "source",
}
"""Fields of the newest daily bar, each with its column of `prices_as_of_event`."""

PERIODS: dict[str, Callable[[date], bool]] = {
    "day": lambda day: day.weekday() < 5,
    "week": lambda day: day.weekday() == 4,
    "month": lambda day: _next(day).day == 1,
    "quarter": lambda day: _next(day).day == 1 and _next(day).month in (1, 4, 7, 10),
    "year": lambda day: (_next(day).month, _next(day).day) == (1, 1),
}
"""Whether a day is the last of a period; a week ends on Friday, and days are Monday to Friday."""

PROOF = {"period_end": "period_end", "public_at": "available_at", "made_of": "made_of"}
"""The proof of a line item's value: the endings of its columns, each with the column of the query."""

COMPANIES_AT_ONCE, PAIRS_AT_ONCE = 20, 20_000
_DAY = re.compile(r"\d{4}(-\d{2}){0,2}", re.ASCII)


def panel_fields() -> list[str]:
    """Return the names of all fields a panel may have."""
    return [*line_items.fields(), *BAR_FIELDS, *RATIOS]


@dataclass(frozen=True, kw_only=True)
class PanelQuestion:
    """The companies, instants and fields of a panel. `parse` creates it from a user's arguments.

    field: returns the name of an argument as the user typed it.
    universe: a mounted table of intervals; its members at each instant are the rows, and `tickers` is empty.
    """

    tickers: tuple[str, ...]
    fields: tuple[str, ...]
    instants: tuple[datetime, ...]
    proof: bool = False
    field: Callable[[str], str] = str
    universe: str | None = None

    @classmethod
    def parse(  # noqa: PLR0913 - the arguments of a panel
        cls,
        tickers: Any,
        fields: Any,
        *,
        universe: str | None = None,
        since: Any = None,
        until: Any = None,
        every: str = "month",
        instants: Sequence[str | datetime] | None = None,
        proof: bool = False,
        field: Callable[[str], str] = str,
    ) -> Self:
        """Check a user's arguments, which are the same as `panel`'s. Return the question.

        field: Returns an argument's name as the user typed it, such as --since.
        Raises BadInput, which shows the argument, and similar names for an unknown field.
        """
        if (tickers is None) == (universe is None):
            problem = f"give either this or {field('universe')}"
            raise BadInput(field("tickers"), problem, "name tickers such as AAPL,NVDA")
        asked_tickers = [] if tickers is None else spell("texts", field("tickers"), tickers)
        symbols = [spell("ticker", field("tickers"), ticker) for ticker in asked_tickers]
        chosen, known_fields = spell("texts", field("fields"), fields), panel_fields()
        for name in chosen:
            if name not in known_fields and "." not in name:
                raise BadInput(field("fields"), f"there is no {name!r}", choice(name, known_fields))
        if (instants is None) == (since is None):
            raise BadInput(field("since"), "give either this or instants", "give a year or day such as 2015")
        last = clock.now() if until is None else clock.past(until, field("until"))
        if instants is None:
            if every not in PERIODS:
                raise BadInput(field("every"), f"{every!r} is unknown", choice(str(every), PERIODS))
            moments, day = [], _first_day(since, field("since"))
            while (end := clock.end_of_new_york_day(day)) <= last:
                if PERIODS[every](day):
                    moments.append(end)
                day += timedelta(days=1)
            if not moments:
                raise BadInput(
                    field("since"), f"no {every} ends between it and {clock.iso(last)}", "give an earlier day"
                )
        else:
            moments = sorted({clock.instant(moment, field("instants")) for moment in instants})
            if not moments or moments[-1] > last:
                raise BadInput(
                    field("instants"), "is empty, or has an instant in the future", "give instants in the past"
                )
        names = (tuple(dict.fromkeys(texts)) for texts in (symbols, chosen))
        return cls(
            tickers=next(names),
            fields=next(names),
            instants=tuple(moments),
            proof=proof,
            field=field,
            universe=universe,
        )


class Panel:
    """The rows of a panel. notes: how tickers were resolved. receipts: those of all answers behind the values."""

    def __init__(self, table: pa.Table, notes: tuple[str, ...], receipts: tuple["Receipt", ...]) -> None:
        self._table, self.notes, self.receipts = table, notes, receipts

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns, in order."""
        return list(self._table.column_names)

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self._table

    def df(self) -> "pd.DataFrame":
        """Return the rows as a pandas DataFrame. Needs `pip install pitlake[pandas]`."""
        return self._table.to_pandas()

    def pl(self) -> "pl.DataFrame":
        """Return the rows as a polars DataFrame. Needs `pip install pitlake[polars]`."""
        import polars as pl

        return pl.DataFrame(self._table)

    def __repr__(self) -> str:
        return f"Panel({len(self)} rows × {len(self.columns)} columns)"


def panel(  # noqa: PLR0913 - the arguments of a panel
    tickers: str | Sequence[str] | None,
    fields: str | Sequence[str],
    *,
    universe: str | None = None,
    since: str | date | None = None,
    until: str | datetime | None = None,
    every: str = "month",
    instants: Sequence[str | datetime] | None = None,
    proof: bool = False,
    version: int | None = None,
    known_by: str | datetime | None = None,
    lake: "str | Path | Lake | None" = None,
    isolation: "Isolation" = "process",
    hindsight: "Hindsight" = "show",
) -> Panel:
    """Return one row for each company and instant, with each value as it was known at that instant.

    Args:
        tickers: Tickers that the companies had then or have today, as a list or a comma-separated string.
        fields: Line items: a name alone (the newest quarter, or balance) or with _quarter, _year or _ttm (trailing
            twelve months) appended. Also open, high, low, close, volume, split_index, price_date, price_source of the
            newest daily bar, and `table.column` of a mounted table that names companies by cik, ticker or symbol. Also
            gross_margin, operating_margin, net_margin, roe, fcf_yield and pe, which are null unless every input is
            known and all have the same period, currency and share basis.
        universe: In place of tickers (None), a table that was mounted with `until`: each instant has the rows of the
            members that were known then.
        since: The first year, month or day.
        until: The last instant (default: now).
        every: day, week, month, quarter or year; the instants are the ends of those days in New York.
        instants: The instants themselves, instead of since and every.
        proof: Add three columns per line item: the last day of its period, when it became public, and the facts behind
            it, with form and accession number.
        version, known_by, lake, isolation, hindsight: As in `connect`.

    Raises:
        BadInput: The message shows the argument and, for an unknown field, similar fields.
        LakeNotFound, LimitExceeded, SessionRefused: See `pitlake.errors`.
    """
    from pitlake.session.viewpoint import Viewpoint

    question = PanelQuestion.parse(
        tickers, fields, universe=universe, since=since, until=until, every=every, instants=instants, proof=proof
    )
    viewpoint = Viewpoint.parse(
        question.instants[-1], version=version, known_by=known_by, lake=lake, isolation=isolation, hindsight=hindsight
    )
    return ask_panel(question, viewpoint)


def ask_panel(
    question: PanelQuestion, viewpoint: "Viewpoint", progress: Callable[[str], None] = lambda _text: None
) -> Panel:
    """Return the panel of a question. viewpoint: used by all its queries, as of the question's last instant."""
    from pitlake.session import open_session

    lake = viewpoint.open_lake()
    viewpoint = replace(viewpoint, lake=lake, version=viewpoint.snapshot().version)
    contracts = lake.contracts(viewpoint.snapshot())
    dotted = [name for name in question.fields if "." in name]
    own = own_fields.questions(dotted, contracts, question.field("fields"))
    ratios = [name for name in question.fields if name in RATIOS]
    of_ratios, needs_bars = inputs(ratios)
    items = [name for name in question.fields if name in line_items.fields()]
    bars = needs_bars or not BAR_FIELDS.keys().isdisjoint(question.fields)
    items = list(dict.fromkeys((*items, *of_ratios)))
    queries = [name for name, is_asked in ((ITEMS, items), (BARS, bars)) if is_asked]
    reads = {dataset for name in queries for dataset in catalogue.get(name).reads}
    at_once = max(1, min(COMPANIES_AT_ONCE, PAIRS_AT_ONCE // len(question.instants)))
    tables: list[pa.Table] = []
    results: list[Result] = []
    reasons: Counter[str] = Counter()
    members: frozenset[tuple[str, datetime]] | None = None
    if question.universe is not None:
        members, results = own_fields.members(
            question.universe, contracts, viewpoint, question.instants, question.field("universe")
        )
        question = replace(question, tickers=tuple(sorted({ticker for ticker, _ in members})))
    with open_session(replace(viewpoint, as_of=question.instants[-1]), datasets=sorted(reads)) as session:
        for first in range(0, len(question.tickers), at_once):
            part = replace(question, tickers=question.tickers[first : first + at_once])
            progress(f"asking: {first:,} of {len(question.tickers):,} companies ({first / len(question.tickers):.0%})")
            answers = {
                name: session.run(name, pairs=_pairs(part), **({"fields": items} if name == ITEMS else {}))
                for name in queries
            }
            results += answers.values()
            columns: dict[str, pa.Array] = {}
            if ratios:
                valuation = Valuation(_pairs(part), answers[ITEMS], answers.get(BARS))
                columns = valuation.columns(session, ratios)
                results += valuation.results
                reasons.update(valuation.reasons)
            tables.append(_table(part, answers, columns))
    table = pa.concat_tables(tables)
    if own:
        table, own_results = _with_own(
            table, question, list(own_fields.answers(own, viewpoint, question.tickers, question.instants, progress))
        )
        results += own_results
    if members is not None:
        pairs = zip(table["ticker"].to_pylist(), table["at"].to_pylist(), strict=True)
        table = table.filter(pa.array([pair in members for pair in pairs], pa.bool_()))
    notes = dict.fromkeys(note for result in results for note in result.notes)
    notes |= dict.fromkeys(f"{reason} ({count:,} values)" for reason, count in sorted(reasons.items()))
    return Panel(table, tuple(notes), tuple(result.receipt for result in results))


def _pairs(question: PanelQuestion) -> list[tuple[str, datetime]]:
    return [(ticker, moment) for ticker in question.tickers for moment in question.instants]


def _table(question: PanelQuestion, answers: dict[str, "Result"], ratios: dict[str, pa.Array]) -> pa.Table:
    """Return the rows of a question's companies, made from the answers to its queries and its ratios."""
    moments = question.instants
    places = {pair: place for place, pair in enumerate(_pairs(question))}
    days = [clock.new_york_day(moment - clock.MICROSECOND) for moment in moments]
    columns: dict[str, pa.Array] = {
        "ticker": pa.array([ticker for ticker, _ in places], pa.string()),
        "date": pa.array(days * len(question.tickers), pa.date32()),
        "at": pa.array([moment for _, moment in places], pa.timestamp("us", "UTC")),
    }
    for field in question.fields:
        if "." in field:
            continue
        if field in ratios:
            columns[field] = ratios[field]
            continue
        if field in BAR_FIELDS:
            columns[field] = _column(places, answers[BARS].arrow(), BAR_FIELDS[field])
            continue
        rows = answers[ITEMS].arrow()
        mine = rows.filter(pa.compute.equal(rows["field"], field))
        columns[field] = _column(places, mine, "value")
        if question.proof:
            columns |= {f"{field}_{ending}": _column(places, mine, name) for ending, name in PROOF.items()}
    return pa.table(columns)


def _with_own(
    table: pa.Table, question: PanelQuestion, answers: list[own_fields.Answer]
) -> tuple[pa.Table, list["Result"]]:
    """Add the fields of mounted tables to the rows, in the question's order; return the answers behind them too."""
    tables = {(ticker, moment, name): result.arrow() for ticker, moment, name, result in answers}
    pairs = list(zip(table["ticker"].to_pylist(), table["at"].to_pylist(), strict=True))
    for name in dict.fromkeys(name for _, _, name, _ in answers):
        rows = [tables[ticker, moment, name] for ticker, moment in pairs]
        padded = [
            each if len(each) else pa.table([pa.nulls(1, field.type) for field in each.schema], schema=each.schema)
            for each in rows
        ]
        whole = pa.concat_tables(padded)
        table = table.append_column(name, whole["value"])
        if question.proof:
            table = table.append_column(f"{name}_public_at", whole[clock.AVAILABLE_AT])
    first = [name for name in question.fields if name in table.column_names]
    proofs = {name: [each for each in table.column_names if each.startswith(f"{name}_")] for name in first}
    order = dict.fromkeys(("ticker", "date", "at", *(each for name in first for each in (name, *proofs[name]))))
    return table.select([*order]), [result for *_, result in answers]


def _column(places: dict[tuple[str, datetime], int], rows: pa.Table, name: str) -> pa.Array:
    """Return a column of an answer, with each value at the position of its company and instant."""
    values: list[Any] = [None] * len(places)
    pairs = zip(rows["ticker"].to_pylist(), rows["at"].to_pylist(), rows[name].to_pylist(), strict=True)
    for ticker, moment, value in pairs:
        values[places[ticker, moment]] = value
    return pa.array(values, rows.schema.field(name).type)


def _next(day: date) -> date:
    return day + timedelta(days=1)


def _first_day(text: Any, field: str) -> date:
    """Return the first day of a year, a month or a day."""
    if isinstance(text, date) and not isinstance(text, datetime):
        return text
    try:
        if isinstance(text, str | int) and _DAY.fullmatch(str(text)):
            return date.fromisoformat((f"{text}-01-01")[: len("YYYY-MM-DD")])
    except ValueError:
        pass
    raise BadInput(
        field, f"{text!r} is neither a year nor a day", "give a year, month or day such as 2015, 2015-06 or 2015-06-30"
    )
