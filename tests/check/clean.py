"""Pipelines that only look back. Run by the check, never imported.

The last ones have the form of examples that leakprobe 0.2.2 and nullcheck 0.2.5 document as correct.
"""

import logging
import time
from datetime import timedelta
from functools import lru_cache

import numpy as np
import pandas as pd

import pitlake

BARS = "SELECT date, symbol, close, volume FROM prices ORDER BY symbol, date"


def bars(session):
    frame = session.sql(BARS).df()
    frame["date"] = pd.to_datetime(frame["date"])
    return frame


def wide(session):
    return bars(session).pivot_table(index="date", columns="symbol", values="close")


def change(session):
    frame = bars(session)
    frame["feature"] = frame.groupby("symbol")["close"].pct_change(5)
    return frame


def filled_forwards(session):
    sparse = wide(session)["AAA"]
    return sparse.where(np.arange(len(sparse)) % 7 == 0).ffill()


def news_joined_backward(session):
    news = session.sql("SELECT available_at, title FROM news ORDER BY available_at").df()
    news["date"] = pd.to_datetime(news["available_at"]).dt.tz_localize(None).astype("datetime64[us]")
    days = wide(session).reset_index()[["date"]].astype("datetime64[us]")
    return pd.merge_asof(days, news[["date", "title"]], on="date")


def headlines_of_a_week(session, as_of):
    query = "SELECT count(*) FROM news WHERE available_at > ?"
    return {"headlines": session.sql(query, [as_of - timedelta(days=7)]).rows()[0][0]}


def latest_figure(session):
    return session.sql("SELECT max_by(value_number, period_end) FROM xbrl_facts").rows()[0][0]


def first_statements(session):
    query = "SELECT available_at, period_end, value_number FROM xbrl_facts_revisions ORDER BY available_at, evidence"
    return session.sql(query).df().drop_duplicates("period_end")


@lru_cache
def _close(symbol, as_of):
    with pitlake.connect(as_of) as session:
        return session.sql("SELECT max_by(close, date) FROM prices WHERE symbol = ?", [symbol]).rows()[0][0]


def cached_by_instant(session, as_of):
    return {symbol: _close(symbol, as_of) for symbol in ("AAA", "BBB")}


def latest_of_each(session):
    frame = bars(session)
    latest = frame.groupby("symbol").tail(1).copy()
    latest["score"] = latest["close"].rank() / len(latest)
    return latest


def rows_as_dicts(session):
    return {symbol: {"mean": close.mean()} for symbol, close in bars(session).groupby("symbol")["close"]}


def timed(session):
    start = time.time()
    frame = wide(session).diff()
    logging.getLogger(__name__).info("took %s", time.time() - start)
    return frame


def on_days(frame, feature):
    """Return a feature by symbol on every fifth day, computed from the rows up to that day."""
    days = sorted(frame["date"].unique())[::5]
    parts = [feature(frame[frame["date"] <= day], day).rename("feature") for day in days]
    return pd.concat(part.reset_index().assign(date=day) for part, day in zip(parts, days, strict=True))


def sum_up_to_a_cutoff(session):
    """leakprobe, retail: each customer's spending up to the cut-off."""
    return on_days(bars(session), lambda seen, _day: seen["close"].mul(seen["volume"]).groupby(seen["symbol"]).sum())


def warm_up_left_open(session):
    """nullcheck, its demonstration without the fault: undefined until the warm-up has ended."""
    return wide(session)["AAA"].diff().abs().rolling(100).mean()
