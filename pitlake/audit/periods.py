"""The rule about periods: figures of a quarter or month that are dated by its end, but are published later."""

import numpy as np
import pandas as pd

from pitlake.audit.finding import Finding, NotChecked, days_between, finding_of, required
from pitlake.audit.table import Column, Table

SOONEST_REPORT = 10
"""The days after a period's end before which hardly any company reports."""
LEAST_PERIOD = 25
"""The days between two periods from which they are months, quarters or years. Shorter ones may be known immediately."""
LEAST_QUARTER = 80
LEAST_SHARE, LEAST_STEPS = 0.9, 4
FUNDAMENTAL = {"eps", "revenue", "sales", "income", "profit", "earnings", "ebit", "ebitda", "dividend", "margin"} | {
    "assets", "equity", "book", "debt", "cash", "liabilities", "shares", "capex", "fcf", "roe", "roa", "pe", "pb"
}  # fmt: skip
"""Words in the names of columns of company figures."""


def period_end(table: Table) -> list[Finding]:
    """Find rows whose figures are dated by the end of their period, or earlier."""
    if "estimate" in table.roles:
        raise NotChecked(f"{table.roles['estimate']} is about a period before its end")
    period = table.time("valid_at")
    if period is None:
        return _dated_by_period(table) or _steps(table)
    if _typical_gap(table, period) < LEAST_PERIOD:
        raise NotChecked(f"{period.name} is shorter than a month, so its values may be known immediately")
    used = table.row_time
    if used is None:
        words = (
            f"{period.name} is the only date",
            "No row says when it became public. A join by the end of the period uses figures weeks too early.",
            "Add the instant at which each figure became public, such as the acceptance of its filing.",
        )
        return finding_of(table, "period_end", words, period.day.notna(), np.ones(len(period.day)), [period.name])
    lag = days_between(used, period)
    early = lag < (SOONEST_REPORT if table.is_panel else 1)
    words = (
        f"figures are used from the end of their period ({used.name} against {period.name})",
        "A period's figures are published weeks after its end.",
        "Date each figure by the filing or the release that first stated it.",
    )
    return finding_of(table, "period_end", words, early.fillna(value=False), -lag.fillna(0), [used.name, period.name])


def _typical_gap(table: Table, period: Column) -> float:
    """Return the median number of days between the periods of an entity; without entities, between all periods."""
    entities = table.values("key")
    keys = pd.Series("", index=period.day.index) if entities is None else entities.astype(str)
    unique = pd.DataFrame({"key": keys, "day": period.day}).dropna().drop_duplicates().sort_values(["key", "day"])
    gaps = unique.groupby("key")["day"].diff().dropna().dt.days
    return float(gaps.median()) if len(gaps) else float("inf")


def _dated_by_period(table: Table) -> list[Finding]:
    """Find rows whose only date is the first or the last day of their period, as in the series of data vendors."""
    used = required(table.row_time, "dates")
    days = used.day.dropna()
    gap = _typical_gap(table, used)
    starts = gap >= LEAST_PERIOD and days.dt.is_month_start.all() and table.values("key") is None
    ends = gap >= LEAST_QUARTER and days.dt.is_month_end.mean() >= LEAST_SHARE and bool(_fundamentals(table))
    if table.has_bars or len(days) < LEAST_STEPS or not (starts or ends) or not table.figures:
        return []
    words = (
        f"{used.name} is the {'first' if starts else 'last'} day of the period that a row is about",
        "A period's figures are published weeks after its end.",
        "Date each figure by its release, such as ALFRED's vintages or the filing that first stated it.",
    )
    return finding_of(table, "period_end", words, used.day.notna(), np.ones(len(used.day)), [used.name])


def _fundamentals(table: Table) -> list[str]:
    return [name for name in table.figures if set(name.lower().replace("-", "_").split("_")) & FUNDAMENTAL]


def _steps(table: Table) -> list[Finding]:
    """Find figures of a daily panel that change on the first row of a quarter: they were joined by period end."""
    used = required(table.row_time, "dates")
    names = _fundamentals(table)
    if not names:
        raise NotChecked("no column of period ends or of company figures")
    entities = table.values("key")
    frame = table.rows[names].assign(_day=used.day, _key="" if entities is None else entities.astype(str))
    frame = frame.dropna(subset=["_day"]).sort_values(["_key", "_day"], kind="stable")
    quarter = frame["_day"].dt.to_period("Q")
    same = frame["_key"].eq(frame["_key"].shift())
    turns = same & quarter.ne(quarter.shift())
    for name in names:
        change = same & frame[name].ne(frame[name].shift()) & frame[name].notna() & frame[name].shift().notna()
        steps = int(change.sum())
        if steps >= LEAST_STEPS and steps < len(frame) / LEAST_STEPS and (change & turns).sum() >= LEAST_SHARE * steps:
            bad = (change & turns).reindex(table.rows.index, fill_value=False)
            words = (
                f"{name} changes on the first day of each quarter",
                "Companies publish a quarter's figures weeks after its end, each on its own day.",
                "Join figures by the instant at which they became public.",
            )
            return finding_of(table, "period_end", words, bad, np.ones(len(bad)), [used.name, name])
    return []
