"""Forty functions that only look back, in the styles of pandas, polars and DuckDB. Run by the check, never imported.

Half of them, marked with their source, follow the steps of public notebooks.
"""

from datetime import timedelta

import duckdb
import numpy as np
import pandas as pd
import polars as pl

BARS = "SELECT date, symbol, open, high, low, close, volume FROM prices ORDER BY symbol, date"


def bars(session):
    frame = session.sql(BARS).df()
    frame["date"] = pd.to_datetime(frame["date"])
    return frame


def wide(session):
    return bars(session).pivot_table(index="date", columns="symbol", values="close")


def lazy(session):
    return session.sql(BARS).pl().lazy()


def articles(session):
    frame = session.sql("SELECT available_at, title FROM news ORDER BY available_at").df()
    frame["date"] = frame["available_at"].dt.tz_localize(None).astype("datetime64[us]")
    return frame


def pandas_momentum_dropna(session):
    """Machine Learning for Algorithmic Trading, chapter 4, feature engineering."""
    frame = bars(session)
    frame["momentum"] = frame.groupby("symbol")["close"].pct_change(21)
    return frame.dropna()


def pandas_sorted_by_day(session):
    frame = bars(session)
    frame["change"] = frame.groupby("symbol")["close"].diff()
    return frame.sort_values(["date", "symbol"])


def pandas_filtered_by_volume(session):
    frame = bars(session)
    frame["mean"] = frame.groupby("symbol")["volume"].transform(lambda volume: volume.rolling(10).mean())
    return frame[frame["volume"] > frame["mean"]]


def pandas_last_headline(session):
    days = bars(session).sort_values("date").astype({"date": "datetime64[us]"})
    return pd.merge_asof(days, articles(session)[["date", "title"]], on="date")


def pandas_renumbered(session):
    frame = bars(session)
    frame["trend"] = frame.groupby("symbol")["close"].transform(lambda close: close.ewm(span=8).mean())
    return frame[frame["close"] > frame["trend"]].reset_index(drop=True)


def pandas_numbered_in_a_column(session):
    frame = bars(session)
    frame["gap"] = frame["open"] / frame.groupby("symbol")["close"].shift(1) - 1
    return frame.dropna().sort_values("date").reset_index()


def pandas_two_best_of_each_day(session):
    """Alphalens tear sheets: the top of each day's cross-section."""
    frame = bars(session)
    frame["score"] = frame.groupby("symbol")["close"].pct_change(5)
    return frame.dropna().sort_values("score", ascending=False).groupby("date").head(2)


def pandas_monthly_lags(session):
    """Machine Learning for Algorithmic Trading, chapter 4: monthly returns over several lags, stacked."""
    monthly = wide(session).resample("ME").last()
    lags = {f"return_{lag}m": monthly.pct_change(lag, fill_method=None).stack() for lag in (1, 2, 3)}
    return pd.DataFrame(lags).dropna().swaplevel()


def pandas_macd(session):
    """je-suis-tm/quant-trading, MACD oscillator."""
    frame = bars(session)
    close = frame.groupby("symbol")["close"]
    frame["fast"] = close.transform(lambda values: values.rolling(10, min_periods=1).mean())
    frame["slow"] = close.transform(lambda values: values.rolling(21, min_periods=1).mean())
    frame["position"] = np.where(frame["fast"] >= frame["slow"], 1, 0)
    frame["signal"] = frame.groupby("symbol")["position"].diff()
    return frame.iloc[1:]


def pandas_rsi(session):
    """je-suis-tm/quant-trading, RSI: Wilder's smoothed averages."""
    close = wide(session)["AAA"]
    change = close.diff()
    rise = change.clip(lower=0).ewm(alpha=1 / 14, adjust=False).mean()
    fall = -change.clip(upper=0).ewm(alpha=1 / 14, adjust=False).mean()
    return (100 - 100 / (1 + rise / fall)).dropna().rename("rsi").reset_index()


def pandas_bollinger(session):
    """je-suis-tm/quant-trading, Bollinger bands."""
    frame = bars(session).query("symbol == 'BBB'").copy()
    middle = frame["close"].rolling(20, min_periods=20).mean()
    width = frame["close"].rolling(20, min_periods=20).std()
    frame["upper"], frame["lower"] = middle + 2 * width, middle - 2 * width
    return frame.loc[frame["close"] < frame["lower"] + width]


def pandas_heikin_ashi(session):
    """je-suis-tm/quant-trading, Heikin-Ashi candles, row by row."""
    frame = bars(session)
    candles = frame[frame["symbol"] == "CCC"].reset_index(drop=True)
    candles["ha_close"] = candles[["open", "high", "low", "close"]].mean(axis=1)
    opening = [candles["open"].iloc[0]]
    for row in range(1, len(candles)):
        opening.append((opening[-1] + candles["ha_close"].iloc[row - 1]) / 2)
    candles["ha_open"] = opening
    return candles


def pandas_awesome_oscillator(session):
    """je-suis-tm/quant-trading, awesome oscillator."""
    frame = bars(session)
    middle = (frame["high"] + frame["low"]) / 2
    by = frame["symbol"]
    frame["oscillator"] = middle.groupby(by).rolling(5).mean().droplevel(0) - middle.groupby(by).rolling(
        34
    ).mean().droplevel(0)
    return frame.dropna(subset=["oscillator"])


def pandas_dual_thrust(session):
    """je-suis-tm/quant-trading, dual thrust: the range of the last days sets today's triggers."""
    frame = bars(session).set_index("date")
    frame = frame[frame["symbol"] == "AAA"]
    span = np.maximum(
        frame["high"].rolling(5).max() - frame["close"].rolling(5).min(),
        frame["close"].rolling(5).max() - frame["low"].rolling(5).min(),
    ).shift(1)
    return pd.DataFrame({"buy": frame["open"] + 0.5 * span, "sell": frame["open"] - 0.5 * span}).dropna()


def pandas_pair(session):
    """je-suis-tm/quant-trading, pairs: the hedge ratio of a rolling window."""
    close = wide(session)
    ratio = close["AAA"].rolling(40).cov(close["BBB"]) / close["BBB"].rolling(40).var()
    spread = close["AAA"] - ratio * close["BBB"]
    return ((spread - spread.rolling(20).mean()) / spread.rolling(20).std()).dropna().to_frame("z")


def pandas_walk_forward_fit(session):
    """Hands-on notebooks of walk-forward regression: each block is predicted by a fit on the rows before it."""
    change = wide(session)["CCC"].pct_change().dropna()
    lagged = change.shift(1).fillna(0)
    predicted = pd.Series(np.nan, index=change.index)
    for start in range(20, len(change), 5):
        slope, level = np.polyfit(lagged.iloc[:start], change.iloc[:start], 1)
        predicted.iloc[start : start + 5] = level + slope * lagged.iloc[start : start + 5]
    return predicted.dropna().rename("predicted").reset_index()


def pandas_neutral_of_the_day(session):
    """Alphalens and WorldQuant notebooks: factors demeaned by day."""
    frame = bars(session)
    frame["factor"] = frame.groupby("symbol")["volume"].pct_change()
    frame["factor"] -= frame.groupby("date")["factor"].transform("mean")
    return frame.dropna().drop(columns=["open", "high", "low"]).sort_values("factor")


def pandas_drawdown(session):
    """pyfolio: the distance to the running maximum."""
    close = wide(session)
    return (close / close.cummax() - 1).melt(ignore_index=False, value_name="drawdown").reset_index()


def pandas_events(session):
    frame = bars(session)
    usual = frame.groupby("symbol")["volume"].transform(lambda volume: volume.rolling(15).mean().shift(1))
    events = frame[frame["volume"] > 1.05 * usual]
    return events[["date", "symbol"]]


def pandas_expanding_quantiles(session):
    frame = bars(session)
    change = frame.groupby("symbol")["close"].pct_change()
    bound = change.groupby(frame["symbol"]).transform(lambda values: values.expanding(30).quantile(0.9).shift(1))
    return frame.assign(clipped=np.minimum(change, bound)).dropna()


def pandas_first_day_of_each_month(session):
    frame = bars(session)
    return frame.groupby([frame["symbol"], frame["date"].dt.to_period("M")]).head(1)


def pandas_pieces_put_together(session):
    pieces = [
        piece.assign(mean=piece["close"].expanding().mean()).reset_index(drop=True)
        for _, piece in bars(session).groupby("symbol")
    ]
    return pd.concat(pieces)


def pandas_long_rows_of_indicators(session):
    frame = bars(session)
    frame["spread"] = frame["close"] - frame.groupby("symbol")["close"].shift(3)
    return frame.melt(id_vars=["date", "symbol"], value_vars=["spread", "volume"]).dropna()


def pandas_by_period(session):
    close = wide(session)
    return close.groupby(close.index.to_period("W")).last().pct_change().stack()


def polars_mean_without_nulls(session):
    """Polars user guide: windows over groups."""
    return lazy(session).with_columns(mean=pl.col("close").rolling_mean(12).over("symbol")).drop_nulls()


def polars_last_headline(session):
    """Polars user guide: asof joins."""
    news = pl.from_pandas(articles(session)[["date", "title"]]).with_columns(pl.col("date").cast(pl.Datetime("us")))
    days = lazy(session).collect().with_columns(pl.col("date").cast(pl.Datetime("us"))).sort("date")
    return days.join_asof(news.sort("date"), on="date")


def polars_weeks(session):
    """Polars user guide: group_by_dynamic, each week dated by its end."""
    return (
        lazy(session)
        .sort("symbol", "date")
        .group_by_dynamic("date", every="1w", group_by="symbol", label="right")
        .agg(pl.col("close").last(), pl.col("volume").sum())
    )


def polars_decay(session):
    return lazy(session).with_columns(decay=pl.col("close").ewm_mean(half_life=5).over("symbol")).sort("close")


def polars_rank_of_the_day(session):
    """Numerai and Kaggle notebooks: ranks within an era."""
    return lazy(session).with_columns(rank=pl.col("close").rank().over("date")).filter(pl.col("rank") > 1)


def polars_numbered(session):
    return lazy(session).sort("symbol", "date").with_row_index().collect()


def polars_crossings(session):
    fast = pl.col("close").rolling_mean(5).over("symbol")
    slow = pl.col("close").rolling_mean(15).over("symbol")
    crossed = lazy(session).with_columns(above=(fast > slow).cast(pl.Int8))
    return crossed.with_columns(turn=pl.col("above").diff().over("symbol")).filter(pl.col("turn") != 0)


def polars_thirty_days(session):
    """Polars user guide: rolling windows by time."""
    window = pl.col("close").mean().rolling("date", period="30d").over("symbol")
    return lazy(session).with_columns(window.alias("mean")).select("symbol", "date", "mean")


def polars_running_total(session):
    frame = lazy(session).with_columns(total=pl.col("volume").cum_sum().over("symbol")).collect()
    return frame.sample(fraction=1.0, shuffle=True, seed=7)


def sql_change(session):
    """DuckDB's blog, window functions."""
    return session.sql(
        "SELECT symbol, date, close / lag(close, 5) OVER (PARTITION BY symbol ORDER BY date) - 1 AS change"
        " FROM prices QUALIFY change IS NOT NULL ORDER BY change DESC"
    )


def sql_first_of_the_month(session):
    return session.sql(
        "SELECT * EXCLUDE (available_at) FROM prices"
        " QUALIFY row_number() OVER (PARTITION BY symbol, date_trunc('month', date) ORDER BY date) = 1"
    ).df()


def sql_figures_asof(session):
    """DuckDB's blog, ASOF joins."""
    return session.sql(
        "SELECT p.date, p.symbol, p.close, f.value_number FROM prices p"
        " ASOF LEFT JOIN xbrl_facts_revisions f ON p.available_at >= f.available_at WHERE p.symbol = 'AAA'"
    ).arrow()


def sql_over_a_frame(session):
    frame = bars(session)
    return duckdb.sql(
        "SELECT date, symbol, avg(close) OVER (PARTITION BY symbol ORDER BY date ROWS 6 PRECEDING) AS mean"
        f" FROM frame WHERE volume > 1000 /* of {len(frame.columns)} columns */"
    ).df()


def sql_twenty_days(session):
    """DuckDB's documentation: RANGE frames by interval."""
    window = "PARTITION BY symbol ORDER BY date RANGE BETWEEN INTERVAL 20 DAYS PRECEDING AND CURRENT ROW"
    return session.sql(f"SELECT symbol, date, stddev(close) OVER ({window}) AS deviation FROM prices").pl()


def sql_headlines_by_day(session):
    return session.sql(
        "SELECT available_at::DATE AS day, ticker, count(*) AS headlines FROM news GROUP BY ALL ORDER BY headlines"
    ).df()


def sql_of_the_last_month(session, as_of):
    query = "SELECT symbol, avg(close) AS mean, count(*) AS days FROM prices WHERE date > ?::DATE GROUP BY symbol"
    return session.sql(query, [as_of - timedelta(days=30)]).df().sort_values("mean")
