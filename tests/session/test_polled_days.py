"""The days for which a session may rely on a company's dividends, given polls, gaps and records hidden from it."""

from datetime import date, datetime, timedelta, timezone

import pytest

from pitlake import connect
from pitlake.datasets import get
from pitlake.lake.publishing.stage import staged_schema
from pitlake.questions.polled_days import common, union, without
from tests.assets.external.figures.test_proven_splits import FETCHED, World, split
from tests.assets.external.test_replays import Archive
from tests.kit import publish

CLOSES = {date(2020, 8, 6): 455.6, date(2020, 8, 7): 444.4, date(2020, 8, 28): 499.2, date(2020, 8, 31): 129.0}


def bar(day, close):
    closed = datetime.combine(day, datetime.min.time(), timezone.utc) + timedelta(hours=20)
    prices = dict.fromkeys(("open", "high", "low", "close"), close)
    contract = get("own_bars")
    names = {"ticker": "AAA", "date": day, "available_at": closed, "evidence": f"made:{day}", "volume": 1e6}
    return prices | names | {"available_at_source": contract.source_tag, "source": "made"}


@pytest.fixture
def made(tmp_path):
    world = World(tmp_path)
    world.poll_splits(split())
    archive = Archive(tmp_path / "dividends", "polygon_dividends", tickers=("AAA",))
    archive.take({"results": [
        {"ticker": "AAA", "cash_amount": 0.82, "declaration_date": "2020-07-30", "dividend_type": "CD",
         "ex_dividend_date": "2020-08-07", "frequency": 4}]}, at=FETCHED)  # fmt: skip
    archive.replay(world.lake)
    names = staged_schema(get("own_bars")).names
    rows = [{name: value for name, value in bar(*each).items() if name in names} for each in CLOSES.items()]
    publish(world.lake, "own_bars", rows, "bars", observed_at=FETCHED)
    return world.lake


@pytest.mark.long
@pytest.mark.parametrize(
    ("at", "note"),
    [
        (datetime(2021, 1, 4, 12, tzinfo=timezone.utc), "no poll proves the dividends of these days"),
        (None, "the basis of a dividend is unproven, because a split may have followed it"),
    ],
)
def test_total_return_is_null_for_a_dividend_fetched_after_a_split(made, at, note):
    with connect(at, lake=made, open_mode=at is None, isolation="in_process") as session:
        answer = session.run("total_return", ticker="AAA")
        again = answer.receipt
        rows = answer.arrow().to_pylist()
    assert [row["close"] for row in rows] == pytest.approx([113.9, 111.1, 124.8, 129.0])
    assert rows[1]["total_return"] is None
    assert rows[1]["note"] == note
    assert rows[1]["price_return"] == pytest.approx(444.4 / 455.6)
    assert rows[2]["total_return"] == pytest.approx(499.2 / 444.4)
    assert '"polled"' in again.question.parameters


JANUARY = [(date(2020, 1, 1), date(2020, 1, 31))]


def test_spans_of_days_can_be_united_intersected_and_subtracted():
    days = [date(2020, 1, day) for day in range(1, 32)]
    assert union([(days[0], days[4])], [(days[5], days[30])]) == JANUARY
    assert union([(days[4], days[0])]) == []
    assert common(JANUARY, [(days[3], date.max)]) == [(days[3], days[30])]
    assert without(JANUARY, [(days[3], days[3])]) == [(days[0], days[2]), (days[4], days[30])]
    assert without(JANUARY, [(date.min, date.max)]) == []
