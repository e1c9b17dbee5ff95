"""Rules that compare a table with the public facts of a lake: restated values under first dates, and later tickers.

Each rule needs evidence of what was public at the row's own time and of what came later.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from pitlake.audit.finding import Finding, NotChecked, finding_of, required
from pitlake.audit.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pitlake.session import Session

DATASETS = ("names", "sec_facts", "xbrl_facts")
MARK = "by the lake's facts"
DAY = 86_400_000_000
_RESTATED = """
WITH
    stated AS (
        SELECT cik, concept, unit, period_start, period_end, value_number AS value, min(available_at) AS public_at
        FROM (
            SELECT cik, concept, unit, period_start, period_end, value_number, available_at FROM sec_facts_revisions
            UNION ALL
            SELECT cik, concept, unit, period_start, period_end, value_number, available_at FROM xbrl_facts_revisions
            WHERE coalesce(member_count, 0) = 0 AND value_number IS NOT NULL
        )
        WHERE cik IN (SELECT cik FROM audited)
        GROUP BY ALL
    ),
    equal AS (
        SELECT place, figure, by_then, stated.*, min(public_at) OVER (PARTITION BY place, figure) AS first_at
        FROM audited JOIN stated USING (cik, period_end)
        WHERE abs(stated.value - audited.value) <= 1e-9 * abs(audited.value)
    )
SELECT
    equal.place,
    any_value(equal.figure) AS figure,
    max(first_at) AS first_at,
    max_by(earlier.value, earlier.public_at) AS value_then
FROM equal
JOIN stated AS earlier
    ON earlier.cik = equal.cik AND earlier.concept = equal.concept AND earlier.unit = equal.unit
    AND earlier.period_start IS NOT DISTINCT FROM equal.period_start AND earlier.period_end = equal.period_end
    AND earlier.value <> equal.value AND earlier.public_at <= by_then
WHERE first_at > by_then
GROUP BY equal.place
"""
_TICKERS = """
WITH
    claims AS (
        SELECT cik, available_at AS stated_at, list_transform(all_names, lambda name: upper(name)) AS tickers
        FROM names_revisions WHERE kind = 'ticker'
    ),
    first AS (
        SELECT cik, ticker, min(stated_at) AS since
        FROM (SELECT cik, stated_at, unnest(tickers) AS ticker FROM claims) GROUP BY ALL
    ),
    borne AS (SELECT ticker, min(since) AS since FROM first GROUP BY ticker)
SELECT
    ticker,
    borne.since,
    max_by(claims.tickers[1], claims.stated_at) AS ticker_then,
    min(claims.stated_at) AS known_since
FROM borne
JOIN first USING (ticker, since)
JOIN claims ON claims.cik = first.cik AND claims.stated_at < borne.since AND NOT list_contains(claims.tickers, ticker)
WHERE ticker IN (SELECT ticker FROM audited)
GROUP BY ALL
"""


@contextmanager
def opened(lake: Any) -> "Iterator[Session]":
    """Open a lake for the rules of this module, without an instant."""
    from pitlake.session import connect

    with connect(open_mode=True, lake=lake, datasets=DATASETS) as session:
        yield session


def restated(table: Table, session: "Session") -> list[Finding]:
    """Find values that filings state only after the row's time, when a different value of the figure was public."""
    period = required(table.time("valid_at"), "periods")
    entities = table.values("key")
    stamp = table.row_time if table.is_panel else table.time("available_at")
    if stamp is None or entities is None or not table.figures:
        raise NotChecked("no figures with a company, a period and a timestamp")
    ciks = {key: _cik(session, key) for key in entities.dropna().astype(str).unique()}
    frame = pd.DataFrame({
        "place": np.arange(len(table.rows)),
        "cik": entities.astype(str).map(ciks).to_numpy(),
        "period_end": period.day.dt.date.to_numpy(),
        "by_then": pd.to_datetime(_end(stamp).to_numpy(), unit="us", utc=True),
    })  # fmt: skip
    parts = [frame.assign(figure=name, value=pd.to_numeric(table.rows[name], errors="coerce").to_numpy(float))
             for name in table.figures]  # fmt: skip
    rows = pd.concat(parts).dropna()
    rows = rows[rows["value"] != 0]
    if rows.empty or not len(session.sql("FROM sec_facts LIMIT 1")) + len(session.sql("FROM xbrl_facts LIMIT 1")):
        raise NotChecked("the lake has no facts of these companies")
    session.load("audited", rows)
    found_rows = session.sql(_RESTATED).df().set_index("place")
    found_rows = found_rows.reindex(range(len(table.rows)))
    first = pd.to_datetime(pd.Series(found_rows["first_at"].to_numpy(), index=table.rows.index), utc=True)
    with_former = table.rows.assign(
        **{"first stated": first.dt.date, "value then": found_rows["value_then"].to_numpy()}
    )
    late = (first - pd.to_datetime(_end(stamp), unit="us", utc=True)).dt.total_seconds().fillna(0)
    words = (
        f"restated values under first dates, {MARK}",
        f"Filings in the lake state these values only later; at {stamp.name} a different value was public.",
        "Give each value the time of the filing that stated it; a session as of the row's time has the value then.",
    )
    names = [period.name, stamp.name, *table.figures[:2], "first stated", "value then"]
    return finding_of(replace(table, rows=with_former), "lake_restated", words, first.notna(), late, names)


def later_tickers(table: Table, session: "Session") -> list[Finding]:
    """Find rows under a ticker that the company takes only later; the lake has a different one at the row's time."""
    entities, used = table.values("key"), table.row_time or table.time("valid_at")
    if entities is None or used is None:
        raise NotChecked("no column of tickers")
    names = entities.astype(str).str.upper()
    session.load("audited", pd.DataFrame({"ticker": names.unique()}))
    changes = session.sql(_TICKERS).df().set_index("ticker")
    if changes.empty:
        if not len(session.sql("FROM names WHERE kind = 'ticker' LIMIT 1")):
            raise NotChecked("the lake has no tickers")
        return []
    since, known_since = (
        names.map(changes[name].dt.tz_convert("America/New_York").dt.tz_localize(None).dt.normalize())
        for name in ("since", "known_since")
    )
    bad = ((used.day < since) & (used.day >= known_since)).fillna(value=False)
    with_former = table.rows.assign(**{"ticker then": names.map(changes["ticker_then"])})
    words = (
        f"today's tickers on old rows, {MARK}",
        "The lake has these tickers only later, and a different ticker of the company at the row's time.",
        "Key rows by CIK, or by the ticker of their day.",
    )
    age = (since - used.day).dt.days.fillna(0)
    return finding_of(replace(table, rows=with_former), "lake_tickers", words, bad, age, [used.name, "ticker then"])


def _cik(session: "Session", key: str) -> str | None:
    if key.removesuffix(".0").isdigit():
        return key.removesuffix(".0").zfill(10)
    ciks = session.company(key).ciks
    return ciks[0] if len(ciks) == 1 else None


def _end(stamp: Column) -> "pd.Series[Any]":
    """Return the last instant that a timestamp may mean. For a day this is its end."""
    return stamp.start.where(stamp.has_clock, stamp.start + DAY)


LAKE_RULES: dict[str, tuple[str, Callable[[Table, "Session"], list[Finding]]]] = {
    "lake_restated": (f"restated values under first dates, {MARK}", restated),
    "lake_tickers": (f"today's tickers on old rows, {MARK}", later_tickers),
}
