"""`pitlake panel` over a lake filled by `pitlake sync` matches an independent computation over EDGAR's answers."""

import shlex
from datetime import date, datetime, timezone

import duckdb
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import pitlake
from pitlake import cli
from pitlake.errors import BadInput
from pitlake.questions.sql_files import sql_file
from tests.catalogue.line_item_oracle import Oracle
from tests.pipelines.sync.test_prices import HEAD

FIELDS = ("revenue_ttm", "revenue", "revenue_year", "assets")
DAYS = ("2016-06-09", "2016-06-10", "2016-09-30", "2017-03-01", "2017-08-01")
BARS = "".join(f"TKA,{day},{100 + n},{100 + n},{100 + n},{100 + n},1000\n" for n, day in enumerate(DAYS))
PANEL = "panel --tickers TKA,TKB --every month --since 2016 --as-of 2018-01-02T00:00:00Z --fields"


def state_revenue(company):
    """State a company's revenue by quarter and year to date. The fourth quarter is only in the annual figure."""
    company.facts["Assets"] = company.facts.pop("Concept0")
    revenue = company.facts["Revenues"] = []
    sums = {}
    for assets in sorted(company.facts["Assets"], key=lambda fact: fact["filed"]):
        year, month = int(assets["end"][:4]), int(assets["end"][5:7])
        sums[year] = sums.get(year, 0) + 100 * month + year - 2000 + company.cik
        filing = {name: assets[name] for name in ("end", "accn", "form", "filed")}
        if month < 12:
            start = f"{year}-{month - 2:02d}-01" if month == 3 else f"{year}-{month - 3:02d}-29"
            revenue.append(filing | {"start": start, "val": 100 * month + year - 2000 + company.cik})
        if month > 3:
            restated = 7 if (year, month) == (2017, 9) else 0
            revenue.append(filing | {"start": f"{year}-01-01", "val": sums[year] + restated})


@pytest.fixture
def full(sync, edgar, tmp_path):
    """An oracle for each of two companies, whose filings and prices are in the lake."""
    for company in edgar.companies[:2]:
        state_revenue(company)
    edgar.publish()
    (tmp_path / "bars.csv").write_text(HEAD + BARS)
    assert sync("--tickers", "TKA,TKB", "--since", "2015").code == 0
    assert sync("--prices", "bars.csv", "--split-basis", "traded").code == 0
    with duckdb.connect() as connection:
        connection.execute(sql_file("macros", "line_items").read_text())
        concepts = connection.execute("FROM line_item_concepts() SELECT item, kind, concept, place").fetchall()
        sums = connection.execute("FROM line_item_sums()").fetchall()
    return {
        name: Oracle(company.company_facts(), concepts, sums)
        for name, company in zip(("TKA", "TKB"), edgar.companies, strict=False)
    }


def test_a_panel_of_24_months_equals_an_independent_computation(full, lake, tmp_path, capfdbinary):
    line = f"{PANEL} {','.join(FIELDS)},close,price_source --proof -o panel.parquet"
    assert cli.invoke(shlex.split(line)) == 0
    text = capfdbinary.readouterr().err.decode()
    table = pq.read_table(tmp_path / "panel.parquet")
    rows = table.to_pylist()
    assert [(row["ticker"], row["date"]) for row in rows[:2]] == [
        ("TKA", date(2016, 1, 31)),
        ("TKA", date(2016, 2, 29)),
    ]
    assert (len(rows), len({row["at"] for row in rows})) == (48, 24)
    filled, early = 0, 0
    for row in rows:
        newest = full[row["ticker"]].newest(row["at"])
        for field in FIELDS:
            item, _, span = field.partition("_")
            figure = newest.get((item, span or ("balance" if item == "assets" else "quarter")))
            assert row[field] == (figure.value if figure else None), (row["at"], field)
            assert row[f"{field}_period_end"] == (figure.end if figure else None)
            filled += row[field] is not None
            early += row[field] is not None and row[f"{field}_public_at"] > row["at"]
        day = max((day for day in DAYS if row["ticker"] == "TKA" and day <= str(row["date"])), default=None)
        assert row["close"] == (100.0 + DAYS.index(day) if day else None)
        assert row["price_source"] == ("own_bars" if day else None)
    assert filled > 120
    assert early == 0
    assert "48 rows, " in text
    assert "TKA: ticker by today's list" in text
    frame = pitlake.panel(
        "TKA,TKB", [*FIELDS, "close", "price_source"], since=2016, until="2018-01-02T00:00:00Z", proof=True, lake=lake
    )
    assert frame.arrow().equals(table.cast(frame.arrow().schema))
    assert frame.pl().height == len(frame.df()) == len(frame) == 48

    # The file name selects the format of a panel, and the caller may choose the instants.
    assert cli.invoke(shlex.split(f"{PANEL} revenue_ttm,close -o panel.csv")) == 0
    output = pyarrow.csv.read_csv(tmp_path / "panel.csv")
    instants = [datetime(2017, 7, 1, tzinfo=timezone.utc), datetime(2016, 7, 1, tzinfo=timezone.utc)]
    frame = pitlake.panel(["TKA"], "revenue_ttm,close", instants=instants, lake=lake)
    assert output.column_names == frame.columns == ["ticker", "date", "at", "revenue_ttm", "close"]
    assert [(row["date"], row["close"]) for row in frame.arrow().to_pylist()] == [
        (date(2016, 6, 30), 101.0),
        (date(2017, 6, 30), 103.0),
    ]


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ("revenu_ttm", "--fields: there is no 'revenu_ttm'; did you mean revenue_ttm"),
        ("revenue --every fortnight", "--every: 'fortnight' is unknown; choose one of day, week"),
        ("revenue --since someday", "--since: 'someday' is neither a year nor a day"),
        ("revenue --since 2018", "--since: no month ends between it and 2018-01-02T00:00:00Z"),
        ("revenue -o panel.xlsx", "--output: 'panel.xlsx' does not imply a format"),
        ("revenue --as-of 2999-01-01T00:00:00Z", "--as-of: is in the future"),
    ],
)
def test_bad_panel_options_are_refused_and_the_error_names_the_option(more, complaint, capfdbinary):
    assert cli.invoke(shlex.split(f"{PANEL} {more}")) == 2
    assert complaint in capfdbinary.readouterr().err.decode()


def test_panel_errors_in_python_name_the_python_arguments():
    with pytest.raises(BadInput, match="did you mean close"):
        pitlake.panel("AAPL", "closee", since=2020)
    with pytest.raises(BadInput, match="since: give either this or instants"):
        pitlake.panel("AAPL", "close")
