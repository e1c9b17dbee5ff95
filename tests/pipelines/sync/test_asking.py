"""Answers from a lake filled by `pitlake sync`, compared with EDGAR's raw responses and the user's bars."""

from datetime import datetime, timedelta, timezone

from pitlake.session import connect
from pitlake.web import questions
from tests.pipelines.sync.test_panel import BARS, DAYS
from tests.pipelines.sync.test_prices import HEAD

CIK, CONCEPT = "0000001000", "us-gaap:Concept0"
INSTANTS = tuple(datetime(2016, 6, 11, 12, tzinfo=timezone.utc) + timedelta(days=100 * n) for n in range(7))


def public_facts(company, at):
    """Return EDGAR's raw figures of one concept that were filed before the day, by the end of their period."""
    return {each["end"]: each["val"] for each in company.facts["Concept0"] if each["filed"] < f"{at:%Y-%m-%d}"}


def test_a_panel_of_synced_sources_equals_edgars_figures_and_the_users_prices(sync, edgar, lake, tmp_path):
    (tmp_path / "bars.csv").write_text(HEAD + BARS)
    assert sync("--tickers", "TKA", "--since", "2015").code == 0
    assert sync("--prices", "bars.csv", "--split-basis", "traded").code == 0
    with connect(INSTANTS[-1], lake=lake, isolation="in_process") as session:
        panel = session.run("panel", pairs=[("TKA", at) for at in INSTANTS], concepts=[CONCEPT])
        rows = [dict(zip(panel.columns, row, strict=True)) for row in panel.rows()]
    for at, row in zip(INSTANTS, rows, strict=True):
        facts = public_facts(edgar.companies[0], at)
        newest = facts[max(facts)] if facts else None
        assert row["facts"] == (f'{{"{CONCEPT}":{float(newest)}}}' if facts else "{}"), at
        day = max((day for day in DAYS if day < f"{at:%Y-%m-%d}"), default=None)
        close, source = (100.0 + DAYS.index(day), "own_bars") if day else (None, None)
        assert (row["close"], row["price_source"]) == (close, source), at


def test_snapshot_page_and_series_equal_the_synced_sources(sync, edgar, lake, tmp_path):
    (tmp_path / "bars.csv").write_text(HEAD + BARS)
    assert sync("--tickers", "TKA", "--since", "2015").code == 0
    assert sync("--prices", "bars.csv", "--split-basis", "traded").code == 0
    at = INSTANTS[3]
    facts = public_facts(edgar.companies[0], at)
    closes = [(day, 100.0 + n, "own_bars", CIK) for n, day in enumerate(DAYS) if day < f"{at:%Y-%m-%d}"]
    with connect(at, lake=lake, isolation="in_process") as session:
        snapshot = (
            session.run("earnings_snapshot", ticker="TKA", concepts=[CONCEPT], filing_days=4000).arrow().to_pylist()
        )
        of = {
            section: [row for row in snapshot if row["section"] == section]
            for section in ("facts", "prices", "filings")
        }
        assert {row["name"].split(" ")[1]: row["value"] for row in of["facts"]} == facts
        assert [(row["name"], row["value"]) for row in of["prices"]] == [bar[:2] for bar in closes]
        answer = session.run("xbrl_metric", ticker="TKA", concept_qname=CONCEPT)
        assert answer.notes == (f"TKA: ticker by today's list, read as CIK {CIK}, with hindsight",)
        result_rows = answer.arrow().to_pylist()
        assert {str(row["period_end"]): float(row["value"]) for row in result_rows} == facts
        assert {row["source"] for row in result_rows} == {"sec_facts"}
        bars = session.run("bars_adjusted", ticker="TKA").arrow().to_pylist()
        assert [(str(row["date"]), row["close"], row["source"], row["entity_id"]) for row in bars] == closes
        company = session.company("TKA").company
        figures = questions.get("figures").sql.replace(
            "line_item_concepts()", f"(SELECT '{CONCEPT}' AS concept, 'assets' AS item, 1 AS place)"
        )
        display = session.sql(figures, {"company": company})
        names = [dict(zip(display.columns, row, strict=True)) for row in display.rows()]
        assert {str(row["period_end"]): row["value_number"] for row in names} == facts
        assert len(questions.get("bars").ask(session, company).rows()) == len(closes)
        filed = [each for each in edgar.companies[0].filings if each["filingDate"] < f"{at:%Y-%m-%d}"]
        numbers = {each["accessionNumber"] for each in filed}
        assert {row["name"] for row in of["filings"]} == numbers
        latest = session.run("report_latest", ticker="TKA", limit=100).arrow().to_pylist()
        assert {row["accessionNo"] for row in latest} == numbers
        assert {row["source"] for row in latest} == {"sec_filings"}
