"""A table in the form that an audit needs: its rows, their times, and the meaning of its columns."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from pitlake.errors import BadInput, choice
from pitlake.lake.mounting.source import Source, opened
from pitlake.lake.tables.query import columns
from pitlake.times import ISO, zone_named
from pitlake.times.sql import DEFAULT_ZONE, ColumnForm, in_sql, part

MOST_ROWS = 5_000_000
MOST_LOOKED_AT = 10_000
READABLE = 0.9
"""The share of a column's values that must be times."""
COMPACT = "%Y%m%d"
SPELLINGS = (ISO, "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", COMPACT)
"""The formats that are tried for strings, in this order."""
NAMES = {
    "available_at": (
        "available_at available_on available knowledge_time knowledge_date known_at known_since known "
        "public_at pit_date published_at publication_date published_on published accepted_at accepted "
        "acceptance_datetime acceptance_date_time acceptance_time accepted_date announced_at "
        "announcement_date announce_date announced_on announced anndats release_date released_at released rdq "
        "report_date reported_at reported_date date_reported filing_date filed_at filed_on filed file_date "
        "filed_date"
    ),
    "accepted_at": "accepted_at accepted acceptance_datetime acceptance_date_time acceptance_time accepted_date",
    "filing_date": "filing_date filed_at filed_on filed file_date filed_date",
    "announced_at": "announced_at announcement_date announce_date announced_on announced anndats rdq report_date",
    "valid_at": (
        "period_end period_end_date periodend period_ending period fiscal_period_end fiscal_date_ending "
        "fiscal_period fiscal_quarter_end fiscal_year_end report_period period_of_report quarter_end "
        "quarter_ending quarter datadate fpedats end_date reference_date reference_period observation_date "
        "valid_at"
    ),
    "loaded_at": (
        "loaded_at loaded load_date load_time inserted_at insert_time db_insert_time ingested_at ingest_time "
        "ingestion_time created_at created fetched_at downloaded_at etl_at etl_time stored_at first_seen "
        "first_seen_at observed_at"
    ),
    "date": (
        "date day trade_date trading_date trading_day session timestamp datetime time ts dt asof as_of as_of_date"
    ),
    "key": (
        "ticker symbol tic cik permno gvkey isin cusip figi sedol ric secid security_id company_id instrument "
        "asset company entity issuer series_id series id name"
    ),
    "concept": "concept field metric item line_item tag measure variable indicator fact account form_item",
    "close": "close close_price closing_price px_last px_close price_close price prc last",
    "adjusted": "adj_close adjclose adj_closing_price adjusted_close close_adj close_adjusted adj_price adjusted_price",
    "estimate": "eps_estimate estimate consensus forecast guidance expected",
}
"""The names of columns with a meaning, the likeliest first. Every mark between words counts as an underscore."""
TIMES = ("available_at", "accepted_at", "filing_date", "announced_at", "valid_at", "loaded_at", "date")


@dataclass(frozen=True)
class Column:
    """A column of times. start: the instant that a program would read each value as; for a day, its start. has_clock:
    whether a value states a clock time; a midnight is a day. is_timestamp: whether the column's type has clock times.
    """

    name: str
    is_timestamp: bool
    day: "pd.Series[Any]"
    start: "pd.Series[Any]"
    has_clock: "pd.Series[Any]"


@dataclass(frozen=True)
class Table:
    """The rows of a table, and the names of its columns by their meaning (`roles`)."""

    label: str
    rows: "pd.DataFrame"
    roles: Mapping[str, str]
    times: Mapping[str, Column]

    def time(self, role: str) -> Column | None:
        """Return the column of times with this meaning; None if there is none."""
        return self.times.get(self.roles.get(role, ""))

    def values(self, role: str) -> "pd.Series[Any] | None":
        """Return the values of the column with this meaning; None if there is none."""
        name = self.roles.get(role)
        return None if name is None else self.rows[name]

    @cached_property
    def row_time(self) -> Column | None:
        """Return the column that says when a row is used: its own date, else the time its values became known."""
        return self.time("date") or self.time("available_at")

    @cached_property
    def is_panel(self) -> bool:
        """Return whether rows have dates of their own and contain the timestamps of the values joined to them."""
        return self.time("date") is not None

    @cached_property
    def has_bars(self) -> bool:
        """Return whether the rows are daily prices."""
        return bool({"close", "adjusted"} & self.roles.keys()) and self.row_time is not None

    @cached_property
    def figures(self) -> list[str]:
        """Return the columns of numbers, even with marks for missing ones, that are neither names nor times."""
        taken = {*self.roles.values(), *self.times}
        return [
            str(name)
            for name, kind in self.rows.dtypes.items()
            if name not in taken
            and not pd.api.types.is_bool_dtype(kind)
            and (
                pd.api.types.is_numeric_dtype(kind)
                or pd.to_numeric(self.rows[name].head(MOST_LOOKED_AT), errors="coerce").notna().mean() >= READABLE
            )
        ]


def read(table: Any, *, timezone: str = DEFAULT_ZONE, names: Mapping[str, str | None] | None = None) -> Table:
    """Read a table for an audit.

    Args:
        table: As for `pitlake.mount`: a path, a URL or a frame.
        timezone: The zone of timestamps without one.
        names: The names of columns by their meaning, where a guess would be wrong.

    Raises:
        BadInput: For a table that can't be read, that has no column of times, or an unknown column or zone.
    """
    try:
        zone_named(timezone)
    except LookupError as problem:
        raise BadInput("timezone", str(problem), "name one such as America/New_York or UTC") from None
    with opened(table) as source:
        ((count,),) = source.connection.sql(f"SELECT count(*) FROM {source.rows}").fetchall()
        if count > MOST_ROWS:
            raise BadInput("the table", f"has {count:,} rows", f"give at most {MOST_ROWS:,}, such as one year of it")
        chosen = {role: name for role, name in (names or {}).items() if name is not None}
        for role, name in chosen.items():
            if role not in NAMES:
                raise BadInput(role, "is not a meaning of a column", choice(role, NAMES))
            if name not in source.types:
                raise BadInput(role, f"the table has no column {name!r}", choice(name, source.types))
        forms = {name: form for name in source.types if (form := _form(source, name, timezone)) is not None}
        if not forms:
            raise BadInput(
                "the table",
                "has no column of dates or times",
                "add one; dates such as 2024-02-15 or 02/15/2024 are read",
            )
        by_name = {plain_name(name): name for name in source.types}
        roles: dict[str, str] = {}
        for role in NAMES:
            guesses = (by_name[name] for name in _names(role) if name in by_name)
            column = next((guess for guess in guesses if (guess in forms) == (role in TIMES)), None)
            if column is not None:
                roles[role] = column
        roles |= chosen
        for role in set(chosen) & {*TIMES}:
            if chosen[role] not in forms:
                raise BadInput(role, f"{chosen[role]} does not hold times", f"name one of {', '.join(forms)}")
        if not {"available_at", "date", "valid_at"} & roles.keys():
            spare = next(name for name in forms if name not in roles.values() or len(forms) == 1)
            roles["date"] = spare
        return _table(source, roles, forms)


def _form(source: Source, name: str, timezone: str) -> ColumnForm | None:
    """Return the format of a column's times; None if it contains no times. Raises BadInput for mixed formats."""
    kind = source.types[name]
    is_number, is_named = kind in ("INTEGER", "BIGINT"), any(plain_name(name) in _names(role) for role in TIMES)
    if is_number and not is_named:
        return None
    if not is_number and kind not in ("DATE", "VARCHAR") and not kind.startswith("TIMESTAMP"):
        return None
    spellings = (COMPACT,) if is_number else SPELLINGS if kind == "VARCHAR" else (ISO,)
    for spelling in spellings:
        form = ColumnForm(kind, spelling, timezone, source.zones.get(name, ""))
        survey = source.survey(name, form, MOST_LOOKED_AT)
        times = survey.days + survey.midnights + survey.clock_times
        if times and times >= READABLE * (times + survey.unreadable):
            return form
        if is_named and times > survey.unreadable:  # Rows with unreadable times would be reported.
            problem = f"{times:,} of its values are times, and {survey.unreadable:,} have another format"
            raise BadInput(name, problem, "write all times of a column in one format, such as 2024-02-15")
    return None


def _table(source: Source, roles: Mapping[str, str], forms: Mapping[str, ColumnForm]) -> Table:
    parts = ", ".join(
        f"coalesce({part('day', name)}, timezone('{form.zone}', {part('instant', name)})::DATE)::TIMESTAMP "
        f"AS {part('day', name)}, "
        f"{part('has_clock', name)} AND {part('end', name)} IS NULL AS {part('has_clock', name)}, "
        f"epoch_us(CASE WHEN {part('has_clock', name)} THEN {part('instant', name)} "
        f"ELSE timezone('{form.zone}', {part('day', name)}::TIMESTAMP) END) AS {part('start', name)}"
        for name, form in forms.items()
    )
    rows = in_sql(source.rows, forms, source.types)
    frame = source.connection.sql(f"SELECT {columns(source.types)}, {parts} FROM {rows}").df()
    times = {
        name: Column(
            name,
            form.kind.startswith("TIMESTAMP"),
            frame[_bare("day", name)],
            frame[_bare("start", name)],
            frame[_bare("has_clock", name)].fillna(value=False).astype(bool),
        )
        for name, form in forms.items()
    }
    return Table(source.label, frame[[*source.types]], roles, times)


def _bare(name: str, column: str) -> str:
    return part(name, column)[1:-1].replace('""', '"')


def _names(role: str) -> list[str]:
    return NAMES[role].split()


def plain_name(name: str) -> str:
    """Return a name in lower case with an underscore between its words."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
