"""Bars, returns and outcomes across splits, from the graph to the answers. No price level reflects a later split."""

from datetime import date, datetime, timedelta, timezone
from math import prod

import neo4j
import pytest

from assets.derived import earnings_outcomes
from assets.derived.earnings_bundles import Event
from assets.graph import _traded, prices, splits
from pitlake.questions import catalogue
from pitlake.session import connect
from tests.every import every
from tests.partitions import run_partitions

START = date(2024, 5, 1)
DAYS = [day for day in (START + timedelta(days=n) for n in range(75)) if day.weekday() < 5 and day != date(2024, 5, 27)]
CIK = "0009800019"


class Upstream:
    """A graph of one company as its loader writes it. loaded: the day on which a bar was read, by default the next."""

    def __init__(self, **executed) -> None:
        self.splits = {date.fromisoformat(f"2024-{day[1:3]}-{day[3:]}"): ratio for day, ratio in executed.items()}
        self.recorded = dict(self.splits)
        self.loaded = {}
        self.traded, price = {}, 1000.0
        for number, day in enumerate(DAYS):
            price *= (1 + (-1) ** number * 0.01) / prod(
                ratio for at, ratio in self.splits.items() if DAYS[max(0, number - 1)] < at <= day
            )
            self.traded[day] = round(price, 4)

    def late(self, first, last, loaded=date(2024, 12, 1)):
        self.loaded |= {day: loaded for day in DAYS if first <= day <= last}
        return self

    def stream(self, cypher, params, *, fetch_size):
        rows = [neo4j.Record(row) for row in self.answer(cypher, params)]
        if rows:
            yield rows

    def answer(self, cypher, params):
        entity = {"label": "Company", "entity_id": CIK, "symbol": "QBRY"}
        if cypher == _traded.ENTITIES:
            yield entity
        elif cypher == _traded.SPLITS:
            for day, ratio in self.recorded.items():
                yield {"ticker": "QBRY", "day": str(day), "before": 1.0, "after": ratio, "companies": [CIK]}
        elif cypher == splits.WINDOW:
            for day, ratio in self.recorded.items():
                if not params["lo"] <= str(day) < params["hi"]:
                    continue
                close = f"{day} 16:00:00-0400" if day.weekday() < 5 else None
                reply = {"ticker": "QBRY", "execution_date": str(day), "split_from": 1.0, "split_to": ratio}
                yield reply | {"node": f"QBRY_{day}", "date_nodes": [[str(day), close]], "cik": [CIK]}
        elif cypher in (prices.WINDOW, _traded.SERIES):
            for day in DAYS:
                if params["lo"] <= str(day) < params.get("hi", "9"):
                    yield entity | self.bar(day)

    def bar(self, day):
        until = self.loaded.get(day, day + timedelta(days=1))
        price = self.traded[day] / prod(ratio for at, ratio in self.splits.items() if day < at <= until)
        bar = dict.fromkeys(("open", "high", "low", "close", "vwap"), price)
        stamp = f"{day} 16:00:00-0400"
        return bar | {"date": str(day), "close_at": stamp, "stamp": stamp, "volume": 9e6, "transactions": 1e5}

    def extract(self, lake, observed="2025-01-01", days=None, audits=()):
        at = datetime.fromisoformat(f"{observed}T12:00:00+00:00")
        for extractor in (splits.EXTRACTOR, prices.EXTRACTOR):
            expected = [day for day in days or DAYS if day <= at.date()]
            expected += [day for day in self.recorded if day.weekday() > 4 and not days]
            expected += [day + timedelta(days=1) for day in expected if day.weekday() > 4]
            report = run_partitions(
                extractor, sorted(set(expected)), self, lake, run_id=observed, observed_at=at, audits=audits
            )
        return report


def close_of(day):
    return datetime(day.year, day.month, day.day, 20, tzinfo=timezone.utc)


def answers(lake, day):
    """Return the closing prices by day and the adjusted bars, as of the close of a day."""
    reads = catalogue.get("bars_adjusted").reads
    with connect(close_of(day), lake=lake, datasets=reads) as session:
        bars = session.run("bars_adjusted", ticker="QBRY").arrow().to_pylist()
        return dict(session.sql("SELECT date, close FROM prices").rows()), bars


def levels(lake, day):
    return answers(lake, day)[0]


QBRY = (date(2024, 6, 3), date(2024, 6, 6))
KINDS = [
    (Upstream(s0610=10.0).late(*QBRY), "a stretch loaded late"),
    (Upstream(s0610=10.0).late(DAYS[0], DAYS[-1]), "all of it loaded late"),
    (Upstream(s0610=0.05).late(*QBRY), "a reverse split"),
    (Upstream(s0604=3.0, s0607=2.0).late(DAYS[0], date(2024, 6, 5)), "two splits in a week"),
    (Upstream(s0604=3.0, s0607=2.0).late(date(2024, 5, 20), date(2024, 5, 29), date(2024, 6, 5)), "between two splits"),
    (Upstream(s0608=2.0).late(*QBRY), "a split on a Saturday"),
    (Upstream(s0610=1.5).late(*QBRY), "three for two"),
]


@pytest.mark.parametrize(("upstream", "_kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_no_price_or_return_as_of_a_day_reflects_a_later_split(lake, upstream, _kind):
    upstream.extract(lake)
    for day in DAYS[20:35]:
        result, bars = answers(lake, day)
        assert result == pytest.approx({each: upstream.traded[each] for each in DAYS if each <= day})
        for row in bars:
            shares = prod(ratio for at, ratio in upstream.splits.items() if row["date"] < at <= day)
            assert row["close"] == pytest.approx(upstream.traded[row["date"]] / shares)
            assert (row["basis"], row["available_at"] <= close_of(day)) == (
                "adjusted" if shares != 1 else "as_traded",
                True,
            )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("upstream", "_kind"), KINDS, ids=[kind for _, kind in KINDS])
def test_an_outcome_across_a_split_is_adjusted_by_the_split_ratio(lake, upstream, _kind):
    upstream.extract(lake)
    event = Event(datetime(2024, 6, 3, 21, tzinfo=timezone.utc), "QBRY", "0000000002-24-000001")
    earnings_outcomes.build(lake, [event], run_id="outcomes", observed_at=datetime(2025, 1, 1, tzinfo=timezone.utc))
    with connect(lake=lake, open_mode=True, datasets=["earnings_outcomes"]) as session:
        rows = session.sql("FROM earnings_outcomes").arrow().to_pylist()
    assert {row["sessions"] for row in rows} == set(earnings_outcomes.WINDOWS)
    assert every(abs(row["change"]) < 3 for row in rows)
    for row in rows:
        shares = prod(ratio for at, ratio in upstream.splits.items() if row["base_date"] < at <= row["end_date"])
        assert row["split_factor"] == pytest.approx(shares)


def test_a_dividend_amount_that_a_later_split_may_restate_counts_from_that_split(lake, put):
    declared = {
        "ticker": "AAA", "declaration_date": date(2024, 5, 2), "dividend_type": "Regular", "cash_amount": 0.82,
        "available_at": datetime(2024, 5, 3, 4, tzinfo=timezone.utc), "dividend_id": "AAA_2024-05-02_Regular",
    }  # fmt: skip
    split = {
        "split_id": "AAA",
        "ticker": "AAA",
        "execution_date": date(2024, 6, 10),
        "split_from": 1.0,
        "split_to": 4.0,
    }
    put("dividends", declared)
    put("splits", split | {"available_at": close_of(date(2024, 6, 10))})
    put("polygon_splits", split | {"ticker": "CCC", "ordinal": 0, "available_at": close_of(date(2024, 6, 11))})
    others = {"BBB": declared["available_at"], "AAA": close_of(date(2024, 6, 10)), "CCC": close_of(date(2024, 6, 11))}
    put(
        "dividends",
        *(declared | {"ticker": ticker, "dividend_id": f"{ticker} backfilled"} for ticker in others),
        declared | {"dividend_id": "declared since", "available_at": datetime(2024, 7, 3, 4, tzinfo=timezone.utc)},
        declared,
    )
    with connect(lake=lake, open_mode=True, datasets=["dividends"]) as session:
        result = dict(session.sql("SELECT dividend_id, available_at FROM dividends_revisions").rows())
    assert result == {f"{ticker} backfilled": at for ticker, at in others.items()} | {
        declared["dividend_id"]: declared["available_at"],
        "declared since": datetime(2024, 7, 3, 4, tzinfo=timezone.utc),
    }


@pytest.mark.parametrize("ratio", [1.047, 21 / 20])
def test_bars_before_a_split_too_small_to_detect_are_not_proven(lake, ratio):
    upstream = Upstream(s0610=ratio)
    upstream.extract(lake)
    assert set(levels(lake, DAYS[-1])) == {day for day in DAYS if day >= date(2024, 6, 10)}


def test_a_second_source_of_traded_bars_proves_the_prices(lake, put):
    upstream = Upstream(s0610=1.047).late(*QBRY)
    bars = []
    for day in DAYS:
        bar = dict.fromkeys(("open", "high", "low", "close"), upstream.traded[day] * 1.001)
        bars.append({"ticker": "QBRY", "date": day, "volume": 1, "available_at": close_of(day), **bar})
    put("av_daily_bars", *bars)
    upstream.extract(lake)
    assert levels(lake, DAYS[-1]) == pytest.approx(upstream.traded)


def test_bars_seen_before_a_split_stay_what_they_were(lake):
    upstream = Upstream(s0610=1.047)
    upstream.recorded = {}
    upstream.extract(lake, "2024-06-08")
    before = levels(lake, date(2024, 6, 7))
    upstream.recorded = dict(upstream.splits)
    again = upstream.extract(lake, "2025-01-01")
    assert before == pytest.approx({day: upstream.traded[day] for day in DAYS if day < date(2024, 6, 8)})
    assert (levels(lake, date(2024, 6, 7)), again.revisions, again.new_gaps) == (before, 0, 0)


def test_a_bar_read_on_the_morning_of_a_split_is_proven_by_the_day_before(lake):
    upstream = Upstream(s0610=10.0).late(date(2024, 6, 7), date(2024, 6, 7))
    upstream.recorded = {}
    upstream.extract(lake, "2024-06-07", [day for day in DAYS if day < date(2024, 6, 7)])
    upstream.recorded = dict(upstream.splits)
    upstream.extract(lake, "2024-06-10", [date(2024, 6, 7)])
    assert levels(lake, date(2024, 6, 7))[date(2024, 6, 7)] == pytest.approx(upstream.traded[date(2024, 6, 7)])


def test_a_split_recorded_late_revises_bars_as_of_its_observation(lake):
    upstream = Upstream(s0610=10.0).late(*QBRY)
    upstream.recorded = {}
    upstream.extract(lake, "2025-01-01")
    first = levels(lake, date(2024, 6, 5))
    upstream.recorded = dict(upstream.splits)
    assert upstream.extract(lake, "2025-02-01").revisions == 4
    assert levels(lake, date(2024, 6, 5)) == first
    assert levels(lake, date(2025, 2, 2)) == pytest.approx(upstream.traded)


def test_bars_and_outcomes_across_an_unrecorded_split_are_unproven(lake):
    upstream = Upstream(s0610=3.0)
    upstream.recorded = {}
    upstream.extract(lake)
    rows = answers(lake, DAYS[-1])[1]
    assert {row["basis"] for row in rows if row["date"] < date(2024, 6, 10)} == {"unproven"}
    assert every((row["close"] is None) == (row["basis"] == "unproven") for row in rows)
    event = Event(datetime(2024, 6, 3, 21, tzinfo=timezone.utc), "QBRY", "0000000002-24-000001")
    at = datetime(2025, 1, 1, tzinfo=timezone.utc)
    report = earnings_outcomes.build(lake, [event], run_id="outcomes", observed_at=at)
    assert report.gaps == {("unverifiable", "closes cannot be compared"): 3}


@pytest.mark.parametrize("other", [{"split_to": 20.0}, {"execution_date": date(2024, 6, 12)}])
def test_bars_are_not_proven_where_two_sources_disagree_about_a_split(lake, put, other):
    reply = {"ticker": "QBRY", "execution_date": date(2024, 6, 10), "ordinal": 0, "split_from": 1.0, "split_to": 10.0}
    put("polygon_splits", reply | {"available_at": datetime(2024, 6, 13, tzinfo=timezone.utc)} | other)
    upstream = Upstream(s0610=10.0).late(*QBRY)
    upstream.extract(lake)
    existing = levels(lake, DAYS[-1])
    assert existing == pytest.approx({day: upstream.traded[day] for day in existing})
    assert not {date(2024, 6, 4), date(2024, 6, 7), *((date(2024, 6, 11),) if "execution_date" in other else ())} & set(
        existing
    )
