"""Ratios in a panel from what was known, never across a split, and the members of an index as known then."""

from datetime import date, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from pitlake.answers.panel import panel
from pitlake.answers.valuation import NEGATIVE, RATIOS, RECEIPTS, SPLIT, UNITS, UNKNOWN
from pitlake.cli import invoke
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from tests.kit import publish

FILED = datetime(2024, 2, 20, 22, tzinfo=timezone.utc)
YEAR = {
    "Revenues": 1000.0, "GrossProfit": 400.0, "OperatingIncomeLoss": 200.0, "NetIncomeLoss": 100.0,
    "NetCashProvidedByUsedInOperatingActivities": 150.0, "PaymentsToAcquirePropertyPlantAndEquipment": 50.0,
    "EarningsPerShareDiluted": 2.0,
}  # fmt: skip
DAYS = {"StockholdersEquity": 500.0, "CommonStockSharesOutstanding": 50.0}
COMPANIES = {"XA": {}, "XB": {"EarningsPerShareDiluted": -1.0, "StockholdersEquity": None}, "XC": {}, "XD": {},
             "XE": {}, "XF": {}}  # fmt: skip
LAST_BAR, OLD_SPLIT = {"XE": date(2023, 12, 15)}, date(2023, 12, 20)
SPLIT_ON = date(2024, 4, 10)
AT = ["2024-02-01T12:00:00Z", "2024-03-15T12:00:00Z", "2024-05-15T12:00:00Z"]


def facts():
    for number, (ticker, changes) in enumerate(COMPANIES.items(), 1):
        for concept, value in ((YEAR | DAYS) | changes).items():
            if value is not None:
                kind = "USD/shares" if "PerShare" in concept else "shares" if "Shares" in concept else "USD"
                is_day = concept in DAYS
                yield {
                    "accession_no": f"000000000{number}-24-000001", "form_type": "20-F" if ticker == "XD" else "10-K",
                    "cik": f"{number:010}",
                    "concept": f"us-gaap:{concept}", "unit": kind.replace("USD", "EUR") if ticker == "XC" else kind,
                    "period_type": "instant" if is_day else "duration",
                    "period_start": None if is_day else date(2023, 1, 1), "period_end": date(2023, 12, 31),
                    "value": str(value), "value_number": value, "filing_date": FILED.date(), "available_at": FILED,
                    "accepted_at": FILED, "release_rule": "acceptance",
                }  # fmt: skip


def prices():
    for number in range(120):
        day = date(2023, 12, 4) + timedelta(days=number + number // 5 * 2)
        for cik, ticker in enumerate(COMPANIES, 1):
            if day > LAST_BAR.get(ticker, day):
                continue
            close = 40.0 if ticker != "XA" or day < SPLIT_ON else 10.0
            yield {
                "entity_kind": "company", "entity_id": f"{cik:010}", "symbol": ticker, "date": day,
                **dict.fromkeys(("open", "high", "low", "close", "vwap"), close), "volume": 1000.0 * 40 / close,
                "available_at": datetime(day.year, day.month, day.day, 21, tzinfo=timezone.utc),
            }  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    outcome = Lake(tmp_path_factory.mktemp("valuation") / "lake")
    publish(outcome, "sec_facts", facts(), "facts")
    publish(outcome, "prices", prices(), "prices")
    publish(outcome, "names", [
        {"cik": f"{number:010}", "kind": "ticker", "name": ticker, "all_names": [ticker], "source": "dei",
         "statement": f"{number}", "available_at": datetime(year, 1, 1, tzinfo=timezone.utc)}
        for number, ticker, year in [(99, "XF", 2020), (99, "XZ", 2024), (6, "XF", 2024),
                                     *((number, ticker, 2020) for number, ticker in enumerate([*COMPANIES][:5], 1))]
    ], "names")  # fmt: skip
    publish(outcome, "polygon_splits", [
        {"id": f"split {ticker}", "ticker": ticker, "execution_date": day, "split_from": 1.0, "split_to": 4.0,
         "adjustment_type": "forward_split", "available_at": datetime(day.year, day.month, 1, tzinfo=timezone.utc)}
        for ticker, day in (("XA", SPLIT_ON), ("XE", OLD_SPLIT))
    ], "split")  # fmt: skip
    return outcome


def columns(lake, tickers, instants=AT):
    result = panel(tickers, list(RATIOS), instants=instants, lake=lake, isolation="in_process")
    return {name: result.arrow()[name].to_pylist() for name in RATIOS}, result.notes


def test_ratios_use_figures_public_at_the_instant_and_never_mix_share_bases(lake):
    result, notes = columns(lake, "XA")
    assert result == {
        "gross_margin": [None, 0.4, 0.4], "operating_margin": [None, 0.2, 0.2], "net_margin": [None, 0.1, 0.1],
        "roe": [None, 0.2, 0.2], "fcf_yield": [None, 100 / (50 * 40), None], "pe": [None, 20.0, None],
    }  # fmt: skip
    assert f"pe: {SPLIT} (1 values)" in notes
    assert f"roe: {UNKNOWN} (1 values)" in notes


def test_a_price_of_depositary_receipts_gives_no_ratio_per_share(lake):
    result, notes = columns(lake, "XD", AT[1:2])
    assert (result["pe"], result["fcf_yield"], result["roe"]) == ([None], [None], [0.2])
    assert f"pe: {RECEIPTS} (1 values)" in notes


def test_a_price_before_a_split_in_the_period_gives_no_ratio_per_share(lake):
    result, notes = columns(lake, "XE", AT[1:2])
    assert (result["pe"], result["fcf_yield"], result["roe"]) == ([None], [None], [0.2])
    assert f"pe: {SPLIT} (1 values)" in notes


def test_a_ratio_uses_the_companys_shares_even_if_its_ticker_is_reused(lake):
    assert columns(lake, "XF", AT[1:2])[0]["pe"] == [20.0]


def test_a_ratio_of_negative_values_or_other_units_is_null_and_noted(lake):
    result, notes = columns(lake, "XB,XC", AT[1:2])
    assert result["pe"] == [None, None]
    assert result["roe"] == [None, 0.2]
    assert result["net_margin"] == [0.1, 0.1]
    assert result["fcf_yield"] == [100 / (50 * 40), None]
    assert {f"pe: {NEGATIVE} (1 values)", f"pe: {UNITS} (1 values)", f"roe: {UNKNOWN} (1 values)"} <= set(notes)


MEMBERS = [
    ("XA", "2024-01-10T12:00:00Z", "2024-03-01T12:00:00Z"),  # left
    ("XB", "2024-01-10T12:00:00Z", "2024-02-10T12:00:00Z"),  # left and rejoined
    ("XB", "2024-04-20T12:00:00Z", None),
    ("XC", "2024-03-01T12:00:00Z", None),
]


@pytest.fixture(scope="module")
def indexed(lake):
    rows = [dict(zip(("ticker", "since", "until", "weight"), (*row, 1.0), strict=True)) for row in MEMBERS]
    options = {"key": ["ticker"], "available_at": "since"}
    lake.mount(pa.Table.from_pylist(rows), "index_members", until="until", **options)
    lake.mount(pa.Table.from_pylist(rows), "without_ends", **options)
    announced = [{"ticker": "XA", "effective": date(2024, 3, 18), "announced": "2024-03-01T12:00:00Z", "gone": None}]
    table = pa.Table.from_pylist(announced, pa.schema([("ticker", pa.string()), ("effective", pa.date32()),
                                                       ("announced", pa.string()), ("gone", pa.string())]))  # fmt: skip
    lake.mount(table, "planned", key=["ticker", "effective"], available_at="announced", until="gone")
    return lake


def members(lake, universe, fields="close", instants=AT):
    result = panel(None, fields, universe=universe, instants=instants, lake=lake, isolation="in_process").arrow()
    return list(zip(result["ticker"].to_pylist(), [str(at)[:10] for at in result["at"].to_pylist()], strict=True))


def test_a_universe_has_the_members_of_each_instant_including_those_that_left_later(indexed):
    assert members(indexed, "index_members") == [
        ("XA", "2024-02-01"),
        ("XB", "2024-02-01"),
        ("XB", "2024-05-15"),
        ("XC", "2024-03-15"),
        ("XC", "2024-05-15"),
    ]
    assert members(indexed, "index_members", "index_members.weight", AT[:1]) == [
        ("XA", "2024-02-01"),
        ("XB", "2024-02-01"),
    ]


def test_an_announced_member_counts_from_its_effective_date(indexed):
    assert members(indexed, "planned") == [("XA", "2024-05-15")]


def test_an_edit_is_not_the_end_of_a_membership(lake):
    rows = [
        {"ticker": "XA", "since": "2024-01-10T12:00:00Z", "gone": None, "edited": "2024-01-11T12:00:00Z"},
        {"ticker": "XB", "since": "2024-01-10T12:00:00Z", "gone": "2024-02-10T12:00:00Z", "edited": None},
    ]
    options = {"key": ["ticker"], "available_at": "since", "not_before": "edited"}
    lake.mount(pa.Table.from_pylist(rows), "edited_members", until="gone", **options)
    lake.mount(pa.Table.from_pylist(rows), "edits", **options)
    assert members(lake, "edited_members") == [("XA", at[:10]) for at in AT] + [("XB", "2024-02-01")]
    with pytest.raises(BadInput, match="edits has no intervals by ticker"):
        members(lake, "edits")


def test_an_unusable_universe_is_refused_and_the_error_says_what_to_type(indexed, tmp_path, capfd):
    for universe, message in (
        ("index_member", "there is no mounted table 'index_member'; did you mean index_members"),
        (
            "without_ends",
            "without_ends has no intervals by ticker; mount it with --key ticker, --available-at and --until",
        ),
    ):
        with pytest.raises(BadInput, match=message):
            members(indexed, universe)
    with pytest.raises(BadInput, match="planned has no member at these instants"):
        members(indexed, "planned", instants=AT[:1])
    ask = [
        "panel",
        "--fields",
        "pe",
        "--since",
        "2024-03",
        "--as-of",
        "2024-05-16T00:00:00Z",
        "--lake",
        indexed.location,
    ]
    assert invoke([*ask, "--isolation", "in_process"]) == 2
    assert "--tickers: give either this or --universe" in capfd.readouterr().err
    out = ["--universe", "index_members", "-o", str(tmp_path / "panel.csv"), "--isolation", "in_process"]
    assert invoke([*ask, *out]) == 0
    assert (tmp_path / "panel.csv").read_text().splitlines()[1].startswith("XB,2024-04-30,")
