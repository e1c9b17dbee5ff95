"""Features that look ahead, each in a way that occurs in practice. Run by the check, never imported.

The last ones have the form of leaks in the documentation of leakprobe 0.2.2 and nullcheck 0.2.5.
"""

import time
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.compute as pc

import pitlake

BARS = "SELECT date, symbol, close, volume FROM prices ORDER BY symbol, date"
FIGURES = str(Path(__file__).with_name("figures.csv"))
_remembered = {}


def bars(session):
    frame = session.sql(BARS).df()
    frame["date"] = pd.to_datetime(frame["date"])
    return frame


def wide(session):
    return bars(session).pivot_table(index="date", columns="symbol", values="close")


def by_symbol(frame):
    return frame.groupby("symbol")["close"]


def next_close(session):
    frame = bars(session)
    frame["feature"] = by_symbol(frame).shift(-1)
    return frame


def news_joined_to_the_nearest(session):
    news = session.sql("SELECT available_at, title FROM news ORDER BY available_at").df()
    news["date"] = pd.to_datetime(news["available_at"]).dt.tz_localize(None).astype("datetime64[us]")
    days = wide(session).reset_index()[["date"]].astype("datetime64[us]")
    return pd.merge_asof(days, news[["date", "title"]].iloc[::9], on="date", direction="nearest")


def restated_figures(session):
    facts = session.sql("SELECT period_end, value_number FROM xbrl_facts ORDER BY period_end").df()
    days = wide(session).reset_index()[["date"]].astype("datetime64[us]")
    facts["date"] = pd.to_datetime(facts["period_end"]).astype("datetime64[us]") + pd.Timedelta(days=40)
    return pd.merge_asof(days, facts[["date", "value_number"]], on="date")


def figures_at_the_end_of_their_period(session):
    facts = session.sql(
        "SELECT period_end, value_number FROM xbrl_facts_revisions ORDER BY period_end, available_at"
    ).df()
    return facts.drop_duplicates("period_end").rename(columns={"period_end": "date"})


def filled_with_the_mean(session):
    sparse = wide(session)["AAA"]
    return sparse.where(np.arange(len(sparse)) % 7 == 0).fillna(sparse.mean())


def sql_lead(session):
    return session.sql(
        "SELECT date, symbol, lead(close) OVER (PARTITION BY symbol ORDER BY date) AS feature FROM prices"
    )


def arrow_share_of_the_sum(session):
    table = session.sql(BARS).arrow()
    return table.append_column("feature", pc.divide(table["volume"], pc.sum(table["volume"])))


def smoothed_by_frequencies(session):
    waves = np.fft.rfft(wide(session)["AAA"].to_numpy())
    waves[5:] = 0
    days = wide(session).index
    return [{"date": day, "feature": value} for day, value in zip(days, np.fft.irfft(waves, len(days)), strict=True)]


def newest_in_open_mode(session):
    with pitlake.connect(open_mode=True) as other:
        return {"news": other.sql("SELECT count(*) FROM news").rows()[0][0]}


def asked_a_week_later(session, as_of):
    with pitlake.connect(as_of + timedelta(days=7)) as other:
        return other.sql("SELECT symbol, max_by(close, date) AS close FROM prices GROUP BY symbol").arrow()


def moved_a_week_later(session, as_of):
    session.advance(as_of + timedelta(days=7))
    return session.sql("SELECT symbol, max_by(close, date) AS close FROM prices GROUP BY symbol").arrow()


def by_business_date_in_open_mode(session, as_of):
    with pitlake.connect(open_mode=True) as other:
        query = "SELECT max_by(value_number, period_end) FROM xbrl_facts WHERE period_end <= ?"
        return other.sql(query, [as_of.date()]).rows()[0][0]


def members_of_today(session, as_of):
    with pitlake.connect(datetime.now(timezone.utc)) as other:
        return other.sql("SELECT DISTINCT symbol FROM prices WHERE date > DATE '2024-06-01' ORDER BY symbol").df()


def age_by_the_clock(session):
    newest = session.sql("SELECT max(available_at) FROM news").rows()[0][0]
    return {"days": (datetime.now(timezone.utc) - newest).days}


def age_by_the_day(session):
    return (date.today() - session.sql("SELECT max(date) FROM prices").rows()[0][0]).days


def age_in_seconds(session):
    return {"age": time.time() // 86_400}


def from_a_file(session):
    with open(FIGURES) as figures:
        return {"figures": len(figures.read())}


def from_a_table_of_figures(session):
    return {"figures": pd.read_csv(FIGURES)["figure"].sum()}


def from_a_scan(session):
    return pl.scan_csv(FIGURES).select(pl.col("figure").sum()).collect()


@lru_cache
def _newest_close(symbol, session_of=None):
    return _asked.sql("SELECT max_by(close, date) FROM prices WHERE symbol = ?", [symbol]).rows()[0][0]


def cached_by_symbol(session):
    global _asked
    _asked = session
    return {symbol: _newest_close(symbol) for symbol in ("AAA", "BBB")}


def cached_in_a_default(session, seen={}):
    if "close" not in seen:
        seen["close"] = session.sql("SELECT max_by(close, date) FROM prices WHERE symbol = 'AAA'").rows()[0][0]
    return seen["close"]


def cached_in_the_module(session):
    if "titles" not in _remembered:
        _remembered["titles"] = session.sql("SELECT count(*) FROM news").rows()[0][0]
    return {"titles": _remembered["titles"]}


def on_days(frame, feature):
    """Return a feature by symbol on every fifth day. `feature` gets the rows up to that day, all rows, and the day."""
    days = sorted(frame["date"].unique())[20::5]
    parts = [feature(frame[frame["date"] <= day], frame, day).rename("feature") for day in days]
    return pd.concat(part.reset_index().assign(date=day) for part, day in zip(parts, days, strict=True))


def statements(session):
    query = "SELECT period_end, available_at, value_number FROM xbrl_facts_revisions ORDER BY available_at, evidence"
    frame = session.sql(query).df().drop_duplicates("period_end")
    frame["public"] = frame["available_at"].dt.tz_localize(None)
    return frame.assign(symbol="AAA", date=pd.to_datetime(frame["period_end"]))


def mean_without_a_cutoff(session):
    """leakprobe, S1: an aggregate of all rows instead of the visible rows."""
    return on_days(bars(session), lambda _seen, every, _day: by_symbol(every).mean())


def mean_of_weekdays_without_a_cutoff(session):
    """leakprobe, S1: the same, by weekday."""
    frame = bars(session).assign(symbol=lambda f: f["date"].dt.dayofweek)
    return on_days(frame, lambda _seen, every, _day: by_symbol(every).mean())


def rows_counted_without_a_cutoff(session):
    """leakprobe, its demonstration: counts events whose day has not come."""
    return on_days(bars(session), lambda _seen, every, _day: by_symbol(every).size())


def turnover_by_the_period(session):
    """leakprobe, S2: a feature of prices reads a table of filings and ignores the delay of filings."""
    figures = statements(session)

    def turnover(seen, _every, day):
        return seen.groupby("symbol")["volume"].last() / figures[figures["date"] <= day]["value_number"].iloc[-1]

    return on_days(bars(session), turnover)


def net_of_another_table(session):
    """leakprobe, S2: a sum minus the rows of a second table that no clock limits."""
    other = statements(session)["value_number"].sum()
    return on_days(bars(session), lambda seen, _every, _day: by_symbol(seen).sum() - other)


def outcome_joined_by_key(session):
    """leakprobe, S3: events up to the day, joined to outcomes that have a separate clock."""
    outcomes = statements(session)[["period_end", "value_number"]]
    events = statements(session)[["symbol", "date", "period_end"]]

    def rate(seen, _every, _day):
        return seen.merge(outcomes, on="period_end").groupby("symbol")["value_number"].mean()

    return on_days(pd.concat([bars(session), events]), rate)


def hours_to_an_end_to_come(session):
    """leakprobe, S3: durations of events that have not ended."""
    figures = statements(session)
    figures["days"] = (figures["public"] - figures["date"]).dt.days * figures["value_number"]
    frame = pd.concat([bars(session), figures])
    return on_days(frame, lambda seen, _every, _day: seen.groupby("symbol")["days"].sum())


def opened_instead_of_resolved(session):
    """leakprobe, its first page: rows selected by the wrong one of their two clocks."""
    figures = statements(session)
    days = sorted(bars(session)["date"].unique())[20::5]
    return pd.Series({day: figures[figures["date"] <= day]["value_number"].mean() for day in days}, name="feature")


def outcome_on_the_row_of_its_event(session):
    """leakprobe, S4: an outcome stored in its event's row, under the event's clock."""
    frame = bars(session)
    frame["outcome"] = by_symbol(frame).shift(-5) / frame["close"]
    return on_days(frame, lambda seen, _every, _day: seen.groupby("symbol")["outcome"].mean())


def scaled_by_all_of_time(session):
    """leakprobe, S5: visible values, scaled by the mean and deviation of all rows."""

    def score(seen, every, _day):
        return (by_symbol(seen).sum() - every["close"].mean()) / every["close"].std()

    return on_days(bars(session), score)


def true_range(session, symbol="AAA"):
    return wide(session)[symbol].diff().abs()


def warm_up_filled_backwards(session):
    """nullcheck, its demonstration: an indicator's undefined first rows get values from after the warm-up."""
    return true_range(session).rolling(100).mean().bfill()


def stop_by_a_filled_warm_up(session):
    """nullcheck, its demonstration: a trailing stop that reads such an indicator."""
    return (wide(session)["AAA"] - 3 * true_range(session).rolling(100).mean().bfill()).cummax()


def week_spread_over_its_days(session):
    """nullcheck, its first page: a week's bar repeated on each of its days."""
    days = wide(session)["BBB"]
    return days.resample("W-FRI").last().reindex(days.index, method="bfill")
