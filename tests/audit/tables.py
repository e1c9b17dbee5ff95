"""Tables with and without hindsight, in common formats. Each entry has a function that creates the table and, if
hindsight is planted, the rule that finds it.
"""

import random
from datetime import date, datetime, time, timedelta, timezone

import pandas as pd

from pitlake import clock, exchange

UTC = timezone.utc
QUARTERS = [date(year, *day) for year in (2021, 2022, 2023) for day in ((3, 31), (6, 30), (9, 30), (12, 31))]
NAMES = ["AAA", "BBB", "CCC"]


def sessions(first, last):
    return [day for day in days(first, last) if exchange.session(day)]


def days(first, last):
    return [first + timedelta(days=number) for number in range((last - first).days + 1)]


def reported(number, quarter, hour=16.5):
    """Return the instant of a report: three to six weeks after the quarter, after the close of a session."""
    day = next(
        each
        for each in days(quarter + timedelta(days=21 + 7 * (number % 4)), date(2030, 1, 1))
        if exchange.session(each)
    )
    return datetime.combine(day, time(int(hour), int(hour % 1 * 60), 7), clock.NEW_YORK).astimezone(UTC)


def facts(**changed):
    """Return quarterly figures with their instants. `changed` adds columns computed from (number, quarter, instant)."""
    rows = []
    for number, ticker in enumerate(NAMES):
        for place, quarter in enumerate(QUARTERS):
            instant = reported(number + place, quarter)
            row = {
                "ticker": ticker,
                "period_end": quarter,
                "eps": round(1 + 0.1 * number + 0.01 * place, 2),
                "available_at": instant,
            }
            row |= {name: make(number + place, quarter, instant) for name, make in changed.items()}
            rows.append({name: value for name, value in row.items() if value is not ...})
    return pd.DataFrame(rows)


def absent(*_):
    return ...


def walk(seed, count, start=100.0):
    chance = random.Random(seed)
    price, prices = start, []
    for _ in range(count):
        price *= 1 + chance.gauss(0, 0.01)
        prices.append(round(price, 2))
    return prices


def bars(first=date(2022, 1, 3), last=date(2023, 6, 30), tickers=("AAA", "BBB"), date_name="date", price_name="close"):
    content = sessions(first, last)
    frames = [
        pd.DataFrame(
            {"ticker": ticker, date_name: content, price_name: walk(number, len(content)), "volume": 1_000 + number}
        )
        for number, ticker in enumerate(tickers)
    ]
    return pd.concat(frames, ignore_index=True)


def panel(stamp_of=lambda instant: instant.astimezone(clock.NEW_YORK).date(), shift=1, stamp="announce_date"):
    """Return daily rows with the newest figure announced at least `shift` days earlier, and its announcement day."""
    rows = []
    for number, ticker in enumerate(NAMES):
        statements = [
            (stamp_of(reported(number + place, quarter)), quarter, 1 + place / 10)
            for place, quarter in enumerate(QUARTERS)
        ]
        for day in sessions(date(2022, 1, 3), date(2022, 12, 30)):
            usable = [each for each in statements if each[0] + timedelta(days=shift) <= day]
            announced, quarter, value = usable[-1]
            rows.append({"date": day, "ticker": ticker, "eps": value, "period_end": quarter, stamp: announced})
    return pd.DataFrame(rows)


def joined_by_period(with_period=True):
    rows = [
        {"date": day, "ticker": ticker, "eps": (day.month - 1) // 3 + day.year + number / 10}
        | ({"period_end": max(quarter for quarter in QUARTERS if quarter <= day)} if with_period else {})
        for number, ticker in enumerate(NAMES)
        for day in sessions(date(2022, 1, 3), date(2023, 6, 30))
    ]
    return pd.DataFrame(rows)


def members(leaving):
    """Return the monthly members of an index of 60 over five years. A third of them leave if `leaving`."""
    months = [date(year, month, 1) for year in range(2018, 2023) for month in range(1, 13)]
    rows = [
        {"month_start": month, "symbol": f"S{number:02}", "weight": 1 / 60, "date": month}
        for number in range(60)
        for place, month in enumerate(months)
        if not (leaving and number % 3 == 0 and place > 20 + number % 30)
    ]
    return pd.DataFrame(rows).drop(columns="month_start")


def split_bars(ticker, adjusted, first=date(2020, 6, 1), last=date(2020, 12, 31), split=date(2020, 8, 31), ratio=4):
    frame = bars(first, last, (ticker,))
    if not adjusted:
        before = frame["date"] < split
        frame.loc[before, "close"] = (frame.loc[before, "close"] * ratio).round(2)
    return frame


def early_cents():
    frame = bars(tickers=("ZZZ",))
    early = frame["date"] < date(2022, 11, 1)
    frame.loc[early, "close"] = frame.loc[early, "close"] / 3.7
    return frame


def restatement(stamp):
    frame = facts()
    again = frame[frame["period_end"] == QUARTERS[2]].assign(eps=9.9)
    if stamp == "own":
        again = again.assign(available_at=again["available_at"] + timedelta(days=200))
    return pd.concat([frame, again], ignore_index=True)


def with_times(frame, clock_time):
    zone = clock.NEW_YORK
    return frame.assign(timestamp=[datetime.combine(day, clock_time(day), zone) for day in frame["date"]]).drop(
        columns="date"
    )


def close_of(day):
    return exchange.session(day).close.astimezone(clock.NEW_YORK).time()


def at_start(_, __, instant):
    return pd.Timestamp(instant.astimezone(clock.NEW_YORK).date())


def day_of(_, __, instant):
    return instant.astimezone(clock.NEW_YORK).date()


def accepted(_, __, instant):
    return instant


def loaded_by(delay):
    return lambda _, __, instant: instant + delay


def long_form(frame):
    return frame.melt(id_vars=["ticker", "period_end", "available_at"], var_name="concept", value_name="value")


def weekend_bars():
    frame = bars(tickers=("AAA",))
    extra = frame.iloc[[3, 9]].assign(date=[date(2022, 1, 8), date(2022, 2, 21)])  # a Saturday and Presidents' Day
    return pd.concat([frame, extra], ignore_index=True)


def crypto():
    content = days(date(2022, 1, 1), date(2022, 12, 31))
    return pd.DataFrame({"symbol": "BTC-USD", "date": content, "close": walk(5, len(content), 20_000)})


def macro(lag):
    months = [date(year, month, 28) for year in (2020, 2021, 2022) for month in range(1, 13)]
    return pd.DataFrame(
        {
            "series_id": "CPI",
            "observation_date": months,
            "value": range(36),
            "release_date": [m + timedelta(days=lag) for m in months],
        }
    )


def series(day_of_month, name):
    content = [date(year, month, day_of_month) for year in (2020, 2021, 2022) for month in range(1, 13)]
    return pd.DataFrame({"timestamp": content, name: [f"{number + 0.5}" for number in range(35)] + ["."]})


PLANTED = {
    "a monthly series dated by its months": ("period_end", lambda: series(1, "value")),
    "the same with American dates": (
        "period_end",
        lambda: series(1, "value").assign(timestamp=lambda f: [f"{day:%m/%d/%Y}" for day in f["timestamp"]]),
    ),
    "shares outstanding by quarter": (
        "period_end",
        lambda: pd.DataFrame({"date": QUARTERS, "shares_outstanding": range(12)}),
    ),
    "known at the period's end": ("period_end", lambda: facts(available_at=lambda _, quarter, __: quarter)),
    "known before the period's end": (
        "period_end",
        lambda: facts(available_at=lambda _, quarter, __: quarter - timedelta(days=3)),
    ),
    "only period ends": ("period_end", lambda: facts(available_at=absent)),
    "only quarter ends, named quarter": (
        "period_end",
        lambda: facts(available_at=absent).rename(columns={"period_end": "quarter_end"}),
    ),
    "compustat's datadate alone": (
        "period_end",
        lambda: facts(available_at=absent).rename(columns={"period_end": "datadate", "ticker": "gvkey"}),
    ),
    "a daily panel joined by period": ("period_end", joined_by_period),
    "a daily panel joined by period, which is left out": ("period_end", lambda: joined_by_period(with_period=False)),
    "macro released on its own day": ("period_end", lambda: macro(0)),
    "a panel with stamps after its rows": ("future_stamps", lambda: panel(shift=-10)),
    "a panel with filing dates after its rows": ("future_stamps", lambda: panel(shift=-3, stamp="filing_date")),
    "a panel that trades on the day of the announcement": ("same_day", lambda: panel(shift=0)),
    "a panel with rdq used on its day": ("same_day", lambda: panel(shift=0, stamp="rdq")),
    "days as midnights": ("same_day", lambda: facts(available_at=at_start)),
    "days as midnights, in UTC": (
        "same_day",
        lambda: facts(available_at=at_start).assign(available_at=lambda f: f["available_at"].dt.tz_localize("UTC")),
    ),
    "publication days as midnights": ("same_day", lambda: facts(available_at=absent, published_at=at_start)),
    "filing date beside acceptance": (
        "filing_day",
        lambda: (
            facts(available_at=absent, filing_date=day_of, accepted_at=accepted)
            .rename(columns={"accepted_at": "acceptance_time"})
            .assign(known_at=lambda f: f["filing_date"])
        ),
    ),
    "known since the filing's day": (
        "filing_day",
        lambda: facts(available_at=day_of, filed=day_of, acceptance_datetime=accepted),
    ),
    "restated under the first date": ("restated", lambda: restatement("first")),
    "restated under the first date, one figure a row": ("restated", lambda: long_form(restatement("first"))),
    "loaded a year later": ("loaded_late", lambda: facts(loaded_at=loaded_by(timedelta(days=400)))),
    "loaded in one go": ("loaded_late", lambda: facts(inserted_at=lambda *_: datetime(2024, 5, 1, tzinfo=UTC))),
    "first seen a month later": ("loaded_late", lambda: facts(first_seen=loaded_by(timedelta(days=30)))),
    "META in 2021": ("later_tickers", lambda: bars(date(2021, 1, 4), date(2021, 12, 31), ("META", "BBB"))),
    "facts of ELV before its name": ("later_tickers", lambda: facts().replace("AAA", "ELV")),
    "an adjusted close beside the close": (
        "adjusted_bars",
        lambda: bars().assign(adj_close=lambda f: f["close"] * 0.97),
    ),
    "Apple without its split": ("adjusted_bars", lambda: split_bars("AAPL", adjusted=True)),
    "fractions of cents in the early years": ("adjusted_bars", early_cents),
    "sixty members and nobody leaves": ("survivors", lambda: members(leaving=False)),
    "a Saturday and a holiday": ("closed_days", weekend_bars),
    "four o'clock on half days": ("closed_days", lambda: with_times(bars(tickers=("AAA",)), lambda _day: time(16))),
}
CLEAN = {
    "sixty series that never end": lambda: members(leaving=False).rename(columns={"symbol": "series_id"}),
    "CoreSite's ticker, which another company has now": lambda: bars(
        date(2019, 1, 2), date(2019, 6, 28), ("COR", "BBB")
    ),
    "bars without a date in some rows": lambda: with_times(bars(tickers=("AAA",)), close_of).assign(
        timestamp=lambda f: f["timestamp"].mask(f.index % 50 == 7)
    ),
    "a monthly series dated by a day in the month": lambda: series(14, "value"),
    "returns of a fund by month": lambda: pd.DataFrame({"date": QUARTERS, "fund_return": range(12)}),
    "facts by acceptance": facts,
    "facts by acceptance, as texts": lambda: facts(available_at=lambda _, __, instant: clock.iso(instant)),
    "facts by day": lambda: facts(available_at=day_of),
    "facts with filing dates and acceptance": lambda: facts(filing_date=day_of, accepted_at=accepted),
    "facts by acceptance alone": lambda: facts(available_at=absent, filing_date=day_of, accepted_at=accepted),
    "facts by filing day": lambda: facts(available_at=absent, filing_date=day_of),
    "facts in camel case": lambda: facts(available_at=absent, filingDate=day_of, acceptedDate=accepted).rename(
        columns={"period_end": "fiscalDateEnding"}
    ),
    "a restatement with its own instant": lambda: restatement("own"),
    "a restatement, one figure a row": lambda: long_form(restatement("own")),
    "loaded within a day": lambda: facts(loaded_at=loaded_by(timedelta(hours=5))),
    "loaded within the week": lambda: facts(ingested_at=loaded_by(timedelta(days=3))),
    "a panel from the day after": panel,
    "a panel from two days after, by filing": lambda: panel(shift=2, stamp="filing_date"),
    "a panel by instant of the close before": lambda: panel(stamp="published_on", shift=1),
    "bars as traded": bars,
    "bars with a split as traded": lambda: split_bars("AAPL", adjusted=False),
    "bars of NVIDIA as traded": lambda: split_bars(
        "NVDA", adjusted=False, first=date(2024, 3, 1), last=date(2024, 9, 30), split=date(2024, 6, 10), ratio=10
    ),
    "bars of META after its name": lambda: bars(date(2022, 6, 9), date(2023, 6, 30), ("META", "BBB")),
    "bars of FB before": lambda: bars(date(2021, 1, 4), date(2021, 12, 31), ("FB", "BBB")),
    "bars at the close, half days too": lambda: with_times(bars(tickers=("AAA",)), close_of),
    "crypto on weekends": crypto,
    "a currency with four decimals": lambda: bars(tickers=("EURUSD",)).assign(
        close=lambda f: (f["close"] / 90).round(4)
    ),
    "penny stocks": lambda: bars(tickers=("PNY",)).assign(close=lambda f: (f["close"] / 500).round(4)),
    "an index that companies leave": lambda: members(leaving=True),
    "five companies for a year": lambda: bars(date(2022, 1, 3), date(2022, 12, 30), ("A1", "A2", "A3", "A4", "A5")),
    "macro with a lag": lambda: macro(14),
    "estimates before the period's end": lambda: facts(
        available_at=lambda _, quarter, __: datetime.combine(quarter, time(12, 1), UTC) - timedelta(days=20)
    ).rename(columns={"eps": "eps_estimate"}),
    "news": lambda: pd.DataFrame(
        {
            "id": range(50),
            "ticker": "AAA",
            "published_at": [datetime(2023, 1, 1, 3, 7, tzinfo=UTC) + timedelta(hours=31 * n) for n in range(50)],
            "title": "text",
        }
    ),
    "daily rates known on their day": lambda: pd.DataFrame(
        {
            "series_id": "DGS10",
            "observation_date": sessions(date(2023, 1, 3), date(2023, 6, 30)),
            "value": 4.1,
            "release_date": sessions(date(2023, 1, 3), date(2023, 6, 30)),
        }
    ),
    "a panel of prices and a slow average": lambda: bars().assign(
        average=lambda f: f["close"].rolling(20, min_periods=1).mean()
    ),
}
