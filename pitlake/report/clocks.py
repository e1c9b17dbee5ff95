"""The two clocks of a dataset's rows: the days on which rows became public, and how much later the lake saw them.

One pass counts rows by hour, which gives few groups for any number of rows. The rows of the relevant hours then give
the quantiles.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.tables.query import reading

NEW_YORK_DAY = "(available_at AT TIME ZONE 'America/New_York')::DATE"
AT_ONCE, HOUR = timedelta(minutes=1), timedelta(hours=1)
# Upper bounds of the lag between publication and observation, in whole hours except the first, with their labels.
LAGS = (
    ("under a minute", AT_ONCE),
    ("under an hour", HOUR),
    ("under a day", timedelta(days=1)),
    ("under a week", timedelta(days=7)),
    ("under 30 days", timedelta(days=30)),
    ("under a year", timedelta(days=365)),
    ("under 3 years", timedelta(days=3 * 365)),
    ("under 10 years", timedelta(days=10 * 365)),
)
LONGEST = "10 years or more"
QUANTILES = (0.05, 0.5, 0.95)

_LAG = "epoch_us(observed_at) - epoch_us(available_at)"
_MICROS = HOUR // timedelta(microseconds=1)
HOUR_OF = f"floor(epoch_us(available_at) / {_MICROS})::BIGINT"
LAG_OF = f"floor(({_LAG}) / {_MICROS})::BIGINT"
START = f"make_timestamptz(hour * {_MICROS})"
"""The SQL for the start of an hour. Every New York day starts on a full hour."""
_BY_HOUR = f"""
    SELECT {HOUR_OF} AS hour, {LAG_OF} AS lag, {_LAG} < {AT_ONCE // timedelta(microseconds=1)} AS at_once,
        available_at_source AS source, count(*) AS rows, max(available_at) AS newest, max(observed_at) AS observed
    FROM {{rows}} GROUP BY ALL"""


@dataclass(frozen=True)
class Clocks:
    """The numbers of rows by New York day, by source tag and by lag, the `quantiles` of the lag in seconds, and the
    newest instant of each clock.

    hours: rows by hour of `available_at` and whole hours of lag; None without rows.
    """

    hours: pa.Table | None = None
    days: Mapping[date, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    lags: Mapping[str, int] = field(default_factory=dict)
    quantiles: tuple[float, float, float] | None = None
    newest: datetime | None = None
    observed: datetime | None = None


def clocks(sql: duckdb.DuckDBPyConnection, files: Sequence[DataFile]) -> Clocks:
    """Measure the clocks of the rows in these files."""
    if not files:
        return Clocks()
    hours = sql.sql(_BY_HOUR.format(rows=reading(files))).to_arrow_table()
    sql.register("hours", hours)
    [[newest, observed]] = sql.sql("SELECT max(newest), max(observed) FROM hours").fetchall()
    dated = f"SELECT {START} AS available_at, rows FROM hours"
    whens = " ".join(f"WHEN lag < {bound // HOUR} THEN {place}" for place, (_, bound) in enumerate(LAGS))
    lags = _counts(sql, f"SELECT CASE WHEN at_once THEN 0 {whens} ELSE {len(LAGS)} END AS place, rows FROM hours")
    return Clocks(
        hours=hours,
        days=_counts(sql, f"SELECT {NEW_YORK_DAY}, rows FROM ({dated})"),
        sources=_counts(sql, "SELECT source, rows FROM hours"),
        lags={name: lags.get(place, 0) for place, name in enumerate((*(name for name, _ in LAGS), LONGEST))},
        quantiles=_quantiles(sql, files),
        newest=newest,
        observed=observed,
    )


def _counts(sql: duckdb.DuckDBPyConnection, query: str) -> dict[Any, int]:
    """Return the counts in the second column by the first one, largest first."""
    summed = f"SELECT what, sum(rows)::BIGINT FROM ({query}) AS counted (what, rows) GROUP BY what ORDER BY 2 DESC, 1"
    return dict(sql.sql(summed).fetchall())


def _quantiles(sql: duckdb.DuckDBPyConnection, files: Sequence[DataFile]) -> tuple[float, float, float]:
    """Return the same quantiles as `quantile_cont`, without keeping the lags of all rows in memory."""
    hours = sql.sql("SELECT lag, sum(rows)::BIGINT AS rows FROM hours GROUP BY lag ORDER BY lag").fetchnumpy()
    ends = np.cumsum(hours["rows"])
    exact = (ends[-1] - 1) * np.array(QUANTILES)
    ranks = np.stack([np.floor(exact), np.ceil(exact)]).astype(np.int64)
    places = np.searchsorted(ends, ranks, side="right")
    read = np.isin(np.arange(len(ends)), places)
    sql.register("wanted", pa.table({"lag": hours["lag"][read]}))
    query = f"SELECT {_LAG} AS lag FROM {reading(files)} WHERE {LAG_OF} IN (FROM wanted)"
    lags = np.sort(sql.sql(query).fetchnumpy()["lag"])
    skipped = np.cumsum(np.where(read, 0, hours["rows"]))
    pairs = zip(*lags[ranks - skipped[places]].tolist(), (exact - ranks[0]).tolist(), strict=True)
    between = "SELECT quantile_cont(lag / 1e6, $share) FROM (VALUES ($low), ($high)) AS pair (lag)"
    parameters = ({"low": low, "high": high, "share": share} for low, high, share in pairs)
    first, second, third = (sql.sql(between, params=values).fetchall()[0][0] for values in parameters)
    return first, second, third
