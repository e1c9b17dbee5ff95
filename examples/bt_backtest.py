"""A backtest in bt. Each decision reads the lake as of the morning of the day at whose close it trades.

pip install './dist/pitlake-0.1.0-py3-none-any.whl[pandas]' bt
python examples/bt_backtest.py 2024-01-02 2024-03-28 QACB QBG
"""

import sys
from datetime import datetime, time, timezone
from zoneinfo import ZoneInfo

import bt
import pandas as pd

import pitlake
from pitlake.session import Session

DAYS = 20
NEW_YORK = ZoneInfo("America/New_York")


def morning(day: pd.Timestamp) -> datetime:
    """Return nine in New York, when the day has no bar yet."""
    return datetime.combine(day, time(9), NEW_YORK)


def weights(session: Session, tickers: list[str]) -> dict[str, float]:
    """Weigh alike the tickers whose last close is above their mean of twenty days."""
    closes = {ticker: session.run("bars_adjusted", ticker=ticker).df()["close"].tail(DAYS) for ticker in tickers}
    rising = [ticker for ticker, close in closes.items() if len(close) and close.iloc[-1] > close.mean()]
    return {ticker: 1 / len(rising) for ticker in rising}


def outcomes(first: str, last: str, tickers: list[str]) -> pd.DataFrame:
    """Return what one dollar became, by day and ticker, as known now. Only bt's accounts read it."""
    with pitlake.connect(datetime.now(timezone.utc)) as session:
        answers = {
            ticker: session.run("total_return", ticker=ticker, start_date=first, end_date=last) for ticker in tickers
        }
        columns = {ticker: answer.df().set_index("date")["total_return_index"] for ticker, answer in answers.items()}
    if unknown := [ticker for ticker, index in columns.items() if index.isna().any()]:
        sys.exit(f"the return of {', '.join(unknown)} is unknown: the notes of `pitlake run total_return` say why")
    table = pd.DataFrame(columns)
    return table.set_index(pd.to_datetime(table.index))


def backtest(prices: pd.DataFrame) -> bt.backtest.Result:
    """Run the strategy over the days of the prices."""
    with pitlake.connect(morning(prices.index[0])) as session:

        def decide(target: bt.Strategy) -> bool:
            session.advance(morning(target.now))
            target.temp["weights"] = weights(session, list(prices))
            return True

        strategy = bt.Strategy("trend", [decide, bt.algos.Rebalance()])
        return bt.run(bt.Backtest(strategy, prices, integer_positions=False))


if __name__ == "__main__":
    first, last, *tickers = sys.argv[1:]
    result = backtest(outcomes(first, last, tickers))
    print(result.get_security_weights().round(2).to_csv(), end="")
    print(f"One dollar became {result.prices['trend'].iloc[-1] / 100:.2f}.")
