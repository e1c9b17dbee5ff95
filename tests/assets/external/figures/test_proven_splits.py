"""A figure per share is dated by its fetch, unless polls of the company's splits prove that there was no split."""

from datetime import date, datetime, timedelta, timezone

import pytest

from assets.splits import LakeSplits
from pitlake import connect
from pitlake.errors import LakeError
from pitlake.lake.publishing import publish
from tests import kit
from tests.answers import yahoo_events
from tests.assets.external.test_replays import Archive

REPORTED, SPLIT = "2020-07-30", "2020-08-31"
FETCHED = datetime(2026, 3, 2, 1, tzinfo=timezone.utc)
BEFORE = FETCHED - timedelta(hours=1)
SHOWN_AT = datetime(2020, 8, 10, tzinfo=timezone.utc)
FIGURES = {
    "av_earnings": {
        "symbol": "AAA", "annualEarnings": [], "quarterlyEarnings": [
            {"fiscalDateEnding": "2020-06-30", "reportedDate": REPORTED, "reportedEPS": "0.645",
             "estimatedEPS": "0.5", "surprise": "0.1", "surprisePercentage": "10", "reportTime": "post-market"}],
    },
    "polygon_dividends": {"results": [
        {"ticker": "AAA", "cash_amount": 0.205, "declaration_date": REPORTED, "dividend_type": "CD",
         "ex_dividend_date": "2020-08-07", "frequency": 4}]},
    "yahoo_earnings": yahoo_events(["2020-07-30T20:30:00.000Z", 0.5, 0.645, 29.0]),
}  # fmt: skip


def split(ticker="AAA", day=SPLIT, before=1, after=4):
    return {"ticker": ticker, "execution_date": day, "split_from": before, "split_to": after}


def stage(lake, name, rows, at=BEFORE):
    """Publish rows as a run observed at `at`."""
    kit.publish(lake, name, rows, f"run-{name}-{at:%Y%m%d%H}", observed_at=at)


def tickers(cik, *names, at=datetime(2019, 1, 2, tzinfo=timezone.utc)):
    return {"cik": cik, "kind": "ticker", "name": names[0], "all_names": list(names), "source": "edgar_tickers",
            "statement": f"{at}", "available_at": at, "available_at_source": "provider_metadata"}  # fmt: skip


class World:
    """A lake that polls splits and figures."""

    def __init__(self, root):
        self.root = root
        self.lake = Archive(root, "polygon_splits", tickers=("AAA",)).lake()

    def poll_splits(self, *results, ticker="AAA", at=BEFORE, **scope):
        archive = Archive(self.root / f"splits-{ticker}-{at:%f%H}", "polygon_splits", tickers=(ticker,), **scope)
        archive.take({"results": list(results)}, at=at)
        archive.replay(self.lake)

    def shown(self, name="av_earnings"):
        """Fetch the figures, and return how many of them are visible before the fetch."""
        archive = Archive(self.root / name, name, tickers=("AAA",))
        archive.take(FIGURES[name], at=FETCHED)
        archive.replay(self.lake)
        with connect(SHOWN_AT, lake=self.lake, datasets=[name], isolation="in_process") as session:
            early = session.sql(f"FROM {name}").arrow().num_rows
        with connect(FETCHED + timedelta(days=1), lake=self.lake, datasets=[name], isolation="in_process") as session:
            assert session.sql(f"FROM {name}").arrow().num_rows == 1
        return early


@pytest.fixture
def made(tmp_path):
    return World(tmp_path)


@pytest.mark.parametrize("name", FIGURES)
def test_without_a_poll_of_splits_a_figure_counts_from_its_fetch(made, name):
    assert made.shown(name) == 0


@pytest.mark.parametrize("name", FIGURES)
def test_a_poll_without_a_split_lets_a_figure_keep_its_date(made, name):
    made.poll_splits()
    assert made.shown(name) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("results", "poll", "early"),
    [
        ([split()], {}, 0),
        ([split(day="2020-07-30")], {}, 1),  # The figure already reflects the split.
        ([split(day="2026-03-02")], {}, 0),  # The split is in the future, but sources may already know of it.
        ([split(after=0)], {}, 0),  # The split's ratio is unreadable.
        ([split(day="soon")], {}, 0),
        ([], {"ticker": "AAB"}, 0),
        ([], {"at": FETCHED + timedelta(days=1)}, 1),  # A replay also uses polls made after the fetch.
        ([], {"at": FETCHED - timedelta(days=1)}, 0),
        ([], {"date_from": date(2021, 1, 1)}, 0),
        ([], {"date_from": date(2020, 7, 31)}, 1),
        ([], {"date_to": date(2026, 2, 28)}, 0),
    ],
)
def test_a_poll_of_splits_proves_only_its_own_ticker_and_days(made, results, poll, early):
    made.poll_splits(*results, **poll)
    assert made.shown() == early


def test_a_split_of_another_ticker_of_the_company_makes_a_figure_count_from_its_fetch(made):
    stage(made.lake, "names", [tickers("0000000001", "AAA", "AAB")])
    made.poll_splits()
    assert LakeSplits(made.lake)("AAA", date(2020, 7, 30), date(2026, 3, 1)) == 1.0
    made.poll_splits(split("AAB"), ticker="AAB")
    assert LakeSplits(made.lake)("AAA", date(2020, 7, 30), date(2026, 3, 1)) is not None
    assert made.shown() == 0


def test_a_former_ticker_of_the_company_needs_its_own_poll_of_splits(made):
    since = datetime(2021, 6, 1, tzinfo=timezone.utc)
    stage(made.lake, "names", [tickers("0000000001", "OLD"), tickers("0000000001", "AAA", at=since)])
    made.poll_splits()
    ask = LakeSplits(made.lake)
    assert ask("AAA", date(2020, 7, 30), date(2026, 3, 1)) is None
    assert ask("AAA", date(2021, 6, 1), date(2026, 3, 1)) == 1.0
    made.poll_splits(ticker="OLD")
    assert LakeSplits(made.lake)("AAA", date(2020, 7, 30), date(2026, 3, 1)) == 1.0


def fact(concept, value, end, filed, start="2020-04-01", unit="shares", form="10-Q"):
    at = datetime.fromisoformat(f"{filed}T21:00:00+00:00")
    return {
        "cik": "0000000001", "concept": f"us-gaap:{concept}", "unit": unit, "period_type": "duration",
        "period_start": date.fromisoformat(start), "period_end": date.fromisoformat(end), "form_type": form,
        "accession_no": f"0000000001-{filed[2:4]}-{filed[5:7]}{filed[8:]}00", "value": str(value),
        "value_number": float(value), "filing_date": date.fromisoformat(filed),
        "available_at": at, "accepted_at": at, "release_rule": "acceptance",
    }  # fmt: skip


SHARES = "WeightedAverageNumberOfDilutedSharesOutstanding"
RATIO = "StockholdersEquityNoteStockSplitConversionRatio1"


@pytest.mark.parametrize(
    ("facts", "shares"),
    [
        ([fact(SHARES, 100, "2020-06-30", "2020-05-01"), fact(SHARES, 100, "2020-06-30", "2021-07-29")], 1.0),
        ([fact(SHARES, 100, "2020-06-30", "2020-07-29"), fact(SHARES, 100, "2020-06-30", "2021-07-29")], None),
        (
            [
                fact(SHARES, 100, "2020-06-30", "2020-05-01"),
                fact(SHARES, 100, "2020-06-30", "2021-07-29", form="10-Q/A"),
            ],
            None,
        ),
        ([fact(SHARES, 100, "2020-06-30", "2020-07-29"), fact(SHARES, 400, "2020-06-30", "2021-07-29")], None),
        ([fact(SHARES, 100, "2020-06-30", "2020-07-29")], None),
        ([fact(RATIO, 4, "2020-08-28", "2020-10-30", start="2020-08-28", unit="pure")], None),
    ],
)
def test_reports_that_do_not_restate_share_counts_prove_that_there_was_no_split(made, facts, shares):
    stage(made.lake, "names", [tickers("0000000001", "AAA")])
    stage(made.lake, "sec_facts", facts)
    assert LakeSplits(made.lake)("AAA", date(2020, 7, 30), date(2021, 7, 1)) == shares


@pytest.mark.parametrize(
    ("ratio", "day", "shares"),
    [(4, SPLIT, 4.0), (0.25, SPLIT, 4.0), (5, SPLIT, None), (4, "2020-08-12", None)],
)
def test_filings_that_state_another_ratio_or_day_make_a_split_uncertain(made, ratio, day, shares):
    stage(made.lake, "names", [tickers("0000000001", "AAA")])
    stage(made.lake, "sec_facts", [fact(RATIO, ratio, "2020-08-28", "2020-10-30", "2020-08-28", "pure")])
    made.poll_splits(split(day=day))
    assert LakeSplits(made.lake)("AAA", date(2020, 7, 30), date(2021, 7, 1)) == shares


def test_a_poll_by_an_unpublished_run_proves_nothing(made, monkeypatch):
    def died(*_):
        raise OSError("died")

    with monkeypatch.context() as patch:
        patch.setattr(publish.Publisher, "_publish_once", died)
        with pytest.raises(LakeError, match="died"):
            made.poll_splits()
    assert made.shown() == 0
