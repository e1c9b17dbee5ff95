"""The rules of an audit. Each rule finds rows with values that were not public at the time of the row."""

from collections.abc import Callable
from datetime import date, timedelta
from functools import cache

import numpy as np
import pandas as pd

from pitlake import exchange
from pitlake.audit.finding import WORST, Finding, NotChecked, days_between, finding_of, required
from pitlake.audit.history import FIRST_DAYS, SPLITS
from pitlake.audit.periods import SOONEST_REPORT, period_end
from pitlake.audit.table import Table, plain_name

DAY = 86_400_000_000
"""A day in microseconds."""
LATE_LOAD = 7
LEAST_SHARE = 0.9
EXITS_A_YEAR, EXPECTED_EXITS = 0.04, 5.0
"""The share of listed companies that leave a market in a year, and the number that cannot be absent by chance."""
NO_COMPANIES = {"series_id", "series", "id", "name", "asset", "instrument"}
"""Names of columns whose values need not be companies, so that none has to leave."""
CENT, WHOLE_CENTS, SOME = 0.01, 0.95, 0.3
REAL_WEEKENDS = 0.2
"""The share of weekend rows from which a market is taken to be open on weekends."""


def future_stamps(table: Table) -> list[Finding]:
    """Find rows of a panel with a value whose timestamp is later than the row."""
    if not table.is_panel:
        raise NotChecked("rows have no date besides the timestamps of their values")
    used, findings = required(table.time("date"), "row dates"), list[Finding]()
    for role in ("available_at", "accepted_at", "filing_date", "announced_at"):
        stamp = table.time(role)
        if stamp is None or stamp.name == used.name or any(stamp.name in each.columns for each in findings):
            continue
        later = stamp.day > used.day
        both = stamp.has_clock & used.has_clock
        later = later.mask(both, stamp.start > used.start).fillna(value=False)
        words = (
            f"{stamp.name} is later than {used.name}",
            f"The values became public only after {used.name}.",
            f"Join by {stamp.name} (the last value public before the row), not by period or by position.",
        )
        findings += finding_of(table, "future_stamps", words, later, days_between(stamp, used), [used.name, stamp.name])
    return findings


def same_day(table: Table) -> list[Finding]:
    """Find rows that use a value on the day of its timestamp, although the timestamp has no clock time."""
    stamps = [table.time(role) for role in ("available_at", "accepted_at", "filing_date", "announced_at")]
    stamp = next((each for each in stamps if each is not None and not each.has_clock.any()), None)
    if not table.is_panel:
        return _midnights(table)
    used = required(table.time("date"), "row dates")
    if stamp is None or stamp.name == used.name:
        raise NotChecked("no timestamp of values that is a date")
    same = (stamp.day == used.day) & ~used.has_clock
    words = (
        f"{stamp.name} is a date, and the row uses it on that day",
        "A date has no time. Most results come after the close, so the row's price does not reflect them.",
        f"Use values from the session after {stamp.name}, or store the instant at which they became public.",
    )
    return finding_of(table, "same_day", words, same.fillna(value=False), np.ones(len(same)), [used.name, stamp.name])


def _midnights(table: Table) -> list[Finding]:
    """Find timestamps that are days. A program that compares them treats each as the first second of its day."""
    stamp = required(table.time("available_at"), "timestamps that say when values became known")
    if not stamp.is_timestamp:
        raise NotChecked(f"{stamp.name} has dates, which are not wrong by themselves; use each from its end")
    if stamp.has_clock.any():
        return []
    words = (
        f"{stamp.name} has days stored as midnights",
        "A comparison with a time uses each row from its day's first second, up to 24 hours before it was public.",
        f"Store the instant, or use {stamp.name} from the end of its day; `pitlake mount` does.",
    )
    return finding_of(table, "same_day", words, stamp.day.notna(), np.ones(len(stamp.day)), [stamp.name])


def filing_day(table: Table) -> list[Finding]:
    """Find rows that are dated by a filing's day, although the filing was accepted after the day's start."""
    accepted = table.time("accepted_at")
    filed = table.time("filing_date")
    if accepted is None or filed is None or not accepted.has_clock.any():
        raise NotChecked("no filing dates beside times of acceptance")
    stamp = table.time("available_at")
    if table.is_panel or stamp is None:
        return []
    is_copy = not stamp.has_clock.any() and (stamp.day == filed.day).mean() > LEAST_SHARE
    if stamp.name != filed.name and not is_copy:
        return []
    early = (accepted.start > filed.start) & ~filed.has_clock & accepted.has_clock
    words = (
        f"{stamp.name} is used although {accepted.name} is later",
        "A filing's date does not state the hour; EDGAR accepts filings until 22:00, most after the close.",
        f"Date the rows by {accepted.name}.",
    )
    size = (accepted.start - filed.start) / DAY
    return finding_of(table, "filing_day", words, early.fillna(value=False), size, [stamp.name, accepted.name])


def restated(table: Table) -> list[Finding]:
    """Find different values of one figure under one timestamp. A restated value then has the date of the first one."""
    period, stamp, entities = table.time("valid_at"), table.time("available_at"), table.values("key")
    if period is None or stamp is None or entities is None or not table.figures or table.is_panel:
        raise NotChecked("no figures with a company, a period and a timestamp")
    frame = pd.DataFrame({"key": entities.astype(str), "valid_at": period.day, "available_at": stamp.start})
    concept = table.values("concept")
    frame["concept"] = "" if concept is None else concept.astype(str)
    keys = ["key", "valid_at", "concept", "available_at"]
    content = pd.util.hash_pandas_object(table.rows[table.figures].round(9), index=False)
    frame["content"] = content.to_numpy()
    several = frame.dropna().groupby(keys)["content"].transform("nunique").reindex(frame.index, fill_value=1) > 1
    words = (
        f"several values of one figure under one {stamp.name}",
        "A restated value has the time of the first one, so the past shows a value that was stated only later.",
        "Give each value the time of the filing that stated it.",
    )
    return finding_of(table, "restated", words, several, np.ones(len(several)), [period.name, stamp.name])


def loaded_late(table: Table) -> list[Finding]:
    """Find rows that entered the table long after their date."""
    loaded = required(table.time("loaded_at"), "times of loading")
    stamp = table.time("available_at") or table.row_time
    if stamp is None or stamp.name == loaded.name:
        raise NotChecked("no timestamps besides the times of loading")
    late = (loaded.start - stamp.start) / DAY
    words = (
        f"{loaded.name} is more than {LATE_LOAD} days after {stamp.name}",
        "The row was not in the table at its own date. Its value may be a later reading of its source.",
        f"Use {loaded.name} where the source can't prove the earlier date.",
    )
    return finding_of(
        table, "loaded_late", words, (late > LATE_LOAD).fillna(value=False), late.fillna(0), [stamp.name, loaded.name]
    )


def later_tickers(table: Table) -> list[Finding]:
    """Find rows under a ticker that the company took later."""
    entities, used = table.values("key"), table.row_time or table.time("valid_at")
    if entities is None or used is None:
        raise NotChecked("no column of tickers")
    first = pd.to_datetime(entities.astype(str).str.upper().map({name: day for name, (day, _) in FIRST_DAYS.items()}))
    early = (first - used.day).dt.days
    bad = (early > 0).fillna(value=False)
    names = sorted({*entities[bad].astype(str).str.upper()})
    changes = ", ".join(f"{name} was {FIRST_DAYS[name][1]} until {FIRST_DAYS[name][0]}" for name in names[:3])
    words = (
        "today's tickers on old rows",
        f"{changes}: the names were written later, and with them the choice of companies.",
        "Key rows by CIK, or by the ticker of their day.",
    )
    return finding_of(table, "later_tickers", words, bad, early.fillna(0), [used.name])


def adjusted_bars(table: Table) -> list[Finding]:
    """Find prices that are adjusted for later splits and dividends."""
    used, adjusted, close = table.row_time, table.values("adjusted"), table.values("close")
    if used is None or (adjusted is None and close is None):
        raise NotChecked("no closing prices")
    prices = pd.to_numeric(close if close is not None else adjusted, errors="coerce")
    if adjusted is not None and close is not None:
        apart = (pd.to_numeric(adjusted, errors="coerce") / prices - 1).abs()
        name = table.roles["adjusted"]
        words = (
            f"{name} is adjusted for what came after its day",
            "The factor of a later split or dividend is in the price, so its level reveals the future.",
            "Take returns from it, never levels; or adjust as of each day.",
        )
        return finding_of(
            table,
            "adjusted_bars",
            words,
            (apart > CENT / 10).fillna(value=False),
            apart.fillna(0),
            [used.name, table.roles["close"], name],
        )
    entities = table.values("key")
    keys = pd.Series("", index=prices.index) if entities is None else entities.astype(str).str.upper()
    bad = pd.Series(data=False, index=prices.index)
    in_order = pd.DataFrame({"key": keys, "day": used.day, "price": prices}).dropna().sort_values("day")
    for key, group in in_order.groupby("key"):
        for split in SPLITS.get(str(key), ()):
            bad |= _smooth(group, split.day, split.ratio).reindex(bad.index, fill_value=False)
        # Late rows in whole cents, as all unadjusted prices are, make early rows with fractions of a cent suspect.
        cents = group["price"] / CENT
        whole = (cents - cents.round()).abs() < CENT
        in_fractions = ~whole & (group["price"] >= 1)
        third = len(group) // 3
        if third >= WORST and whole[-third:].mean() >= WHOLE_CENTS and in_fractions[:third].mean() >= SOME:
            bad |= in_fractions.reindex(bad.index, fill_value=False)
    words = (
        "prices adjusted for later splits",
        "A price from before a split is adjusted for it, so its level reveals the split.",
        "Store prices as traded and the splits beside them, each with its day.",
    )
    age = (used.day.max() - used.day).dt.days.fillna(0)
    return finding_of(
        table, "adjusted_bars", words, bad, age, [used.name, table.roles["adjusted" if close is None else "close"]]
    )


def _smooth(group: pd.DataFrame, day: date, ratio: float) -> pd.Series:
    """Return the rows before a split, unless the price falls at the split as an unadjusted price does."""
    before, after = (group[group["day"] < pd.Timestamp(day)], group[group["day"] >= pd.Timestamp(day)])
    nothing = pd.Series(data=False, index=group.index)
    if before.empty or after.empty or (after["day"].iloc[0] - before["day"].iloc[-1]).days > SOONEST_REPORT:
        return nothing
    fall = before["price"].iloc[-1] / after["price"].iloc[0]
    return (
        nothing.mask(group["day"] < pd.Timestamp(day), other=True) if abs(np.log(fall)) < np.log(ratio) / 2 else nothing
    )


def survivors(table: Table) -> list[Finding]:
    """Find a table of many companies over several years in which no company ever leaves."""
    entities, used = table.values("key"), table.row_time or table.time("valid_at")
    if entities is None or used is None or plain_name(table.roles["key"]) in NO_COMPANIES:
        raise NotChecked("no column of companies")
    frame = used.day.groupby(entities.astype(str)).agg(["min", "max"]).dropna()
    years = ((frame["max"] - frame["min"]).dt.days / 365.25).sum()
    end = frame["max"].max()
    leaving = frame["max"] < end - timedelta(days=120)
    expected = EXITS_A_YEAR * years
    if expected < EXPECTED_EXITS:
        raise NotChecked(f"{len(frame)} companies over {years:.0f} years together are too few to tell")
    if leaving.any():
        return []
    words = (
        "only survivors",
        f"None of {len(frame)} companies left, but about {expected:.0f} should have: the list was made at the end.",
        "Take the members of the index or market as of each day, with those that were delisted.",
    )
    every = np.ones(len(table.rows), bool)
    return finding_of(table, "survivors", words, every, -used.start.fillna(0), [used.name])


def closed_days(table: Table) -> list[Finding]:
    """Find prices of days or hours at which the exchange was closed."""
    if not table.has_bars or table.row_time is None:
        raise NotChecked("no prices of days")
    used = table.row_time
    days = used.day.dropna().dt.date
    weekend = used.day.dt.day_of_week >= 5
    if weekend.mean() >= REAL_WEEKENDS:
        raise NotChecked("the market is open on weekends")
    closed = ~days.map(_is_open).astype(bool).reindex(used.day.index, fill_value=True)
    in_hours = used.has_clock & used.start.notna() & ~closed
    closed |= in_hours & (used.start > days.map(_early_close).reindex(used.day.index))
    words = (
        "prices of times at which the exchange was closed",
        "No trades took place then: the prices are carried over from other days, or have the wrong time.",
        "Leave out weekends and holidays, and date bars of half days at their early close.",
    )
    return finding_of(table, "closed_days", words, closed, np.ones(len(closed)), [used.name])


@cache
def _is_open(day: date) -> bool:
    return not exchange.FIRST_YEAR <= day.year <= exchange.LAST_YEAR or exchange.session(day) is not None


@cache
def _early_close(day: date) -> float:
    """Return the close of a half day in microseconds; infinity for other days."""
    session = exchange.session(day)
    is_half = session is not None and (session.close - session.open) < timedelta(hours=6)
    return session.close.timestamp() * 1_000_000 if session and is_half else float("inf")


RULES: dict[str, tuple[str, Callable[[Table], list[Finding]]]] = {
    "future_stamps": ("values later than their row", future_stamps),
    "period_end": ("figures from the end of their period on", period_end),
    "same_day": ("days used on their day", same_day),
    "filing_day": ("filing dates used as acceptance", filing_day),
    "restated": ("restated values under first dates", restated),
    "loaded_late": ("rows loaded later than dated", loaded_late),
    "later_tickers": ("today's tickers on old rows", later_tickers),
    "adjusted_bars": ("bars adjusted for later splits", adjusted_bars),
    "survivors": ("survivors only", survivors),
    "closed_days": ("weekends, holidays and half days", closed_days),
}
