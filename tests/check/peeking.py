"""Forty functions that look ahead, in the styles of pandas, polars and DuckDB. Run by the check, never imported.

Half of them, marked with their source, follow the steps of public notebooks, or the mistakes that such pages describe.
"""

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
    return frame.iloc[::5]


def pandas_target_dropna(session):
    """Machine Learning for Algorithmic Trading, chapter 4: the target stays among the features."""
    frame = bars(session)
    frame["target"] = frame.groupby("symbol")["close"].shift(-5) / frame["close"] - 1
    return frame.dropna()


def pandas_days_before_a_rise(session):
    frame = bars(session)
    rise = frame.groupby("symbol")["close"].shift(-1) > frame["close"]
    return frame[rise][["date", "symbol"]]


def pandas_scores_sorted(session):
    frame = bars(session)
    frame["score"] = (frame["close"] - frame["close"].mean()) / frame["close"].std()
    return frame.sort_values("score").reset_index(drop=True)


def pandas_filled_after_a_gap(session):
    """Kaggle's stock notebooks: fillna(method="bfill")."""
    frame = bars(session)
    frame["mean"] = frame.groupby("symbol")["close"].transform(lambda close: close.rolling(12).mean())
    frame["mean"] = frame["mean"].where(frame["date"].dt.dayofweek != 2)
    frame["mean"] = frame.groupby("symbol")["mean"].bfill()
    return frame.dropna().reset_index(drop=True)


def pandas_winsorised(session):
    """Machine Learning for Algorithmic Trading, chapter 4: clipped at percentiles of the whole sample."""
    change = wide(session).pct_change().stack()
    return change.clip(lower=change.quantile(0.1), upper=change.quantile(0.9)).rename("change").reset_index()


def pandas_next_month(session):
    """Machine Learning for Algorithmic Trading, chapter 4: target_1m."""
    monthly = wide(session).resample("ME").last()
    frame = monthly.pct_change(fill_method=None).stack().to_frame("return_1m")
    frame["target_1m"] = frame.groupby(level="symbol")["return_1m"].shift(-1)
    return frame


def pandas_min_max(session):
    """LSTM notebooks: MinMaxScaler fitted on the whole series."""
    frame = bars(session)
    volume = frame.groupby("symbol")["volume"].cumsum()
    frame["scaled"] = (volume - volume.min()) / (volume.max() - volume.min())
    return frame.dropna().sort_values("date")


def pandas_volatility_of_all(session):
    frame = bars(session)
    change = frame.groupby("symbol")["close"].pct_change()
    frame["sized"] = change / change.groupby(frame["symbol"]).transform("std")
    return frame.dropna()


def pandas_hedge_ratio_of_all(session):
    """Pairs-trading notebooks: the ratio is the slope of the whole sample."""
    close = wide(session)
    slope, level = np.polyfit(close["BBB"], close["AAA"], 1)
    return (close["AAA"] - slope * close["BBB"] - level).rename("spread").reset_index()


def pandas_centred_macd(session):
    frame = bars(session)
    close = frame.groupby("symbol")["close"]
    frame["fast"] = close.transform(lambda values: values.rolling(5, center=True).mean())
    frame["slow"] = close.transform(lambda values: values.rolling(21).mean())
    frame["position"] = (frame["fast"] > frame["slow"]).astype(int)
    return frame.dropna()


def pandas_local_lows(session):
    """Chart-pattern notebooks: local minima by the days on both sides."""
    close = wide(session)["AAA"]
    low = (close < close.shift(1)) & (close < close.shift(-1))
    return close[low].rename("low").reset_index()


def pandas_smoothed_by_polynomials(session):
    """Chart-pattern notebooks: a smoothing filter over both sides."""
    close = wide(session)["BBB"]
    weights = np.polynomial.hermite.hermgauss(7)[1]
    smooth = np.convolve(close, weights / weights.sum(), mode="same")
    return pd.DataFrame({"date": close.index, "smooth": smooth})


def pandas_detrended(session):
    """Statistics notebooks: a linear trend of the whole series is removed."""
    close = wide(session)["CCC"]
    days = np.arange(len(close))
    return (close - np.polyval(np.polyfit(days, close, 1), days)).reset_index()


def pandas_principal_component(session):
    """Statistical-arbitrage notebooks: components of all returns."""
    change = wide(session)[["AAA", "BBB", "CCC"]].pct_change().dropna()
    _, _, components = np.linalg.svd(change - change.mean(), full_matrices=False)
    leading = components[0] * np.sign(components[0][0])
    return pd.Series(change.to_numpy() @ leading, index=change.index, name="component")


def pandas_regime(session):
    """Regime notebooks: calm and wild days, split at the median of the whole sample."""
    volatility = wide(session)["AAA"].pct_change().rolling(10).std().dropna()
    regime = np.where(volatility > volatility.median(), "wild", "calm")
    return pd.DataFrame({"date": volatility.index, "regime": regime})


def pandas_fitted_on_all(session):
    """Regression notebooks: the past is predicted by a fit on a shuffled sample of all days."""
    change = wide(session)["CCC"].pct_change().dropna()
    lagged = change.shift(1).fillna(0)
    chosen = np.random.default_rng(5).permutation(len(change))[: int(len(change) * 0.8)]
    slope, level = np.polyfit(lagged.iloc[chosen], change.iloc[chosen], 1)
    return (level + slope * lagged).rename("predicted").reset_index()


def pandas_distance_to_the_high(session):
    frame = bars(session)
    frame["distance"] = frame["close"] / frame.groupby("symbol")["close"].transform("max")
    return frame.sort_values(["date", "symbol"])


def pandas_complete_histories(session):
    """Portfolio notebooks: dropna(axis=1) drops companies that were delisted."""
    return wide(session).dropna(axis=1).stack().rename("close").reset_index()


def pandas_next_headline(session):
    days = bars(session).sort_values("date").astype({"date": "datetime64[us]"})
    return pd.merge_asof(days, articles(session)[["date", "title"]], on="date", direction="forward").dropna()


def pandas_weeks_by_their_start(session):
    return wide(session).resample("W", label="left", closed="left").last().stack().reset_index()


def pandas_interpolated(session):
    close = wide(session)["AAA"]
    return close.where(close.index.day % 4 == 0).interpolate().dropna().reset_index()


def pandas_rank_in_all(session):
    frame = bars(session)
    frame["rank"] = frame.groupby("symbol")["close"].rank(pct=True)
    return frame.loc[frame["rank"] > 0.2, ["date", "symbol", "rank"]]


def pandas_target_encoding(session):
    """Kaggle: categories encoded by the mean of their target over all rows."""
    frame = bars(session)
    change = frame.groupby("symbol")["close"].pct_change()
    frame["code"] = change.groupby(frame["date"].dt.dayofweek).transform("mean")
    return frame.dropna()


def pandas_best_window(session):
    """Optimisation notebooks: the window that earned most over the whole sample."""
    close = wide(session)["AAA"]
    content = {days: (close > close.rolling(days).mean()).shift(1, fill_value=False) for days in range(3, 40, 2)}
    earned = {days: (close.diff() * position).sum() for days, position in content.items()}
    best = max(earned, key=earned.get)
    return close.rolling(best).mean().dropna().rename("feature").reset_index()


def pandas_equity_by_its_end(session):
    equity = (1 + wide(session)["BBB"].pct_change().fillna(0)).cumprod()
    return (equity / equity.iloc[-1]).rename("equity").reset_index()


def polars_next_close(session):
    """Polars answers on Stack Overflow: shift(-1).over(...)."""
    return lazy(session).with_columns(next=pl.col("close").shift(-1).over("symbol")).drop_nulls()


def polars_less_the_mean(session):
    return lazy(session).with_columns(score=pl.col("close") - pl.col("close").mean().over("symbol")).sort("score")


def polars_next_headline(session):
    news = pl.from_pandas(articles(session)[["date", "title"]]).with_columns(pl.col("date").cast(pl.Datetime("us")))
    days = lazy(session).collect().with_columns(pl.col("date").cast(pl.Datetime("us"))).sort("date")
    return days.join_asof(news.sort("date"), on="date", strategy="forward")


def polars_weeks_by_their_start(session):
    """Polars user guide: group_by_dynamic dates a window by its start."""
    return (
        lazy(session)
        .sort("symbol", "date")
        .group_by_dynamic("date", every="1w", group_by="symbol")
        .agg(pl.col("close").last())
    )


def polars_centred(session):
    return lazy(session).with_columns(mean=pl.col("close").rolling_mean(5, center=True).over("symbol")).drop_nulls()


def polars_filled_backward(session):
    gaps = pl.when(pl.col("date").dt.weekday() != 3).then(pl.col("close"))
    return lazy(session).with_columns(filled=gaps.backward_fill().over("symbol")).drop_nulls().sort("date")


def polars_rank_in_all(session):
    return lazy(session).with_columns(rank=pl.col("volume").cum_sum().over("symbol").rank(descending=True))


def polars_total_to_come(session):
    """Discounted-return notebooks: sums from the end."""
    return lazy(session).with_columns(total=pl.col("volume").cum_sum(reverse=True).over("symbol"))


def polars_newest_first(session):
    """A common slip: rolling over rows that are sorted newest first."""
    newest = lazy(session).sort("date", descending=True)
    return newest.with_columns(mean=pl.col("close").rolling_mean(5).over("symbol")).drop_nulls()


def polars_winners(session):
    won = pl.col("close").last() > pl.col("close").first()
    return lazy(session).filter(won.over("symbol")).select("symbol", "date", "close")


def sql_lead(session):
    """DuckDB's blog, window functions: lead()."""
    return session.sql(
        "SELECT symbol, date, lead(close, 3) OVER (PARTITION BY symbol ORDER BY date) AS later"
        " FROM prices QUALIFY later IS NOT NULL ORDER BY later"
    )


def sql_mean_of_all(session):
    return session.sql("SELECT symbol, date, close - avg(close) OVER (PARTITION BY symbol) AS score FROM prices").df()


def sql_following_days(session):
    """DuckDB's documentation: RANGE frames on both sides of a row."""
    window = "PARTITION BY symbol ORDER BY date RANGE BETWEEN INTERVAL 3 DAYS PRECEDING AND INTERVAL 3 DAYS FOLLOWING"
    return session.sql(f"SELECT symbol, date, avg(close) OVER ({window}) AS mean FROM prices").pl()


def sql_fifths(session):
    frame = bars(session)
    return duckdb.sql(
        f"SELECT date, symbol, ntile(5) OVER (ORDER BY close) AS fifth FROM frame /* {len(frame)} */"
    ).df()


def sql_last_close_joined_back(session):
    return session.sql(
        "WITH last AS (SELECT symbol, max_by(close, date) AS last FROM prices GROUP BY symbol)"
        " SELECT date, symbol, close / last AS ratio FROM prices JOIN last USING (symbol) ORDER BY ratio"
    ).arrow()
