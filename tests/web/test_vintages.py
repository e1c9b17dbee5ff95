"""Pages show "first public" and "this vintage" of figures, filings and calls, and the company of a ticker at T."""

import re
from datetime import date, datetime, timedelta, timezone

import pytest

from pitlake.clock import instant, iso
from pitlake.lake import Lake
from pitlake.session import connect
from pitlake.web import compare
from pitlake.web.address import Address, back
from pitlake.web.company import ITEMS, read_company
from pitlake.web.questions import datasets, get
from tests.doors.conftest import facts, filings, prices, publish, reports
from tests.web.browsing import browsing

FIRST = datetime(2024, 2, 20, 22, tzinfo=timezone.utc)
AGAIN, NIL = FIRST + timedelta(days=5), FIRST + timedelta(days=9)
SEEN, REVISED = instant("2024-06-03T00:00:00Z"), instant("2024-06-10T00:00:00Z")
T = instant("2024-06-20T00:00:00Z")
PLANNED, MOVED = instant("2024-04-02T00:00:00Z"), instant("2024-04-20T00:00:00Z")
HELD = FIRST + timedelta(hours=3)


def fact(at, **more):
    reply = {"accession_no": f"0000000009-24-{at.day:06d}", "available_at": at, "evidence": f"neo4j:Fact:{at.day}"}
    return next(facts()) | reply | more


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("vintages") / "lake"
    lake = Lake(root)
    again = fact(AGAIN, value="90", value_number=90.0)
    nil = fact(NIL, value=None, value_number=None, is_nil=True)
    publish(lake, "xbrl_facts", [next(facts()), again, nil], "facts")
    revised = next(reports()) | {"evidence": "neo4j:Report:again", "description": "Corrected"}
    other = next(filings("Report", (date(2024, 1, 5),), series=9, cik="0000000009", role="primary_filer"))
    publish(lake, "reports", [*reports(), other | {"created": other["available_at"]}], "reports", observed_at=SEEN)
    publish(lake, "reports", [revised], "revised", observed_at=REVISED)
    call = {"transcript_id": "call", "ticker": "QBG", "evidence": "neo4j:Transcript:call"}
    for seen, text in ((SEEN, "Good day."), (REVISED, "Good day, all.")):
        row = call | {"available_at": HELD, "conference_datetime": FIRST, "full_text": text}
        publish(lake, "transcripts", [row], f"call-{seen.day}", observed_at=seen)
    publish(lake, "prices", prices(), "prices")
    plan = {"ticker": "QBG", "fiscal_date_ending": date(2024, 3, 31), "time_of_day": "post-market"}
    for reply, day in ((PLANNED, date(2024, 5, 2)), (MOVED, date(2024, 5, 9))):
        row = plan | {"report_date": day, "available_at": reply, "evidence": f"av:{reply.day}"}
        publish(lake, "av_earnings_calendar", [row], f"plan-{reply.day}", observed_at=reply)
    return root


def at(root, as_of, ticker="QBG"):
    with connect(as_of, lake=root, datasets=datasets()) as session:
        return read_company(session, Address(as_of, ticker))


def test_every_queried_line_item_has_a_name_in_the_same_order():
    (items,) = re.findall(r"item IN \((.*?)\)", get("figures").sql, re.DOTALL)
    assert re.findall(r"'(\w+)'", items) == list(ITEMS)


def test_a_figures_timestamps_are_those_of_the_vintage_shown(root):
    (display,) = at(root, AGAIN).figures
    assert (display.value_number, display.first_value, display.first_public) == (90.0, 100.0, FIRST)
    assert (display.available_at, display.available_at_source) == (AGAIN, "edgar_accepted")


def test_a_figure_restated_as_nil_is_not_replaced_by_an_older_value(root):
    assert at(root, NIL - timedelta(seconds=1)).newest_figures
    assert at(root, NIL).newest_figures == []


def with_facts(root, rows):
    publish(Lake(root), "reports", reports(), "reports")
    publish(Lake(root), "xbrl_facts", rows, "facts")


def test_a_foreign_filer_s_figures_are_shown(tmp_path):
    statement = {"ifrs-full:ProfitLoss": "7", "us-gaap:Assets": "8", "ifrs-full:Revenue": "9", "ifrs-full:Equity": "6"}
    rows = [fact(FIRST, concept=name, value=value, value_number=float(value)) for name, value in statement.items()]
    with_facts(tmp_path, rows)
    display = [(each.concept, each.value_number) for each in at(tmp_path, T).newest_figures]
    assert display == [
        ("ifrs-full:Revenue", 9),
        ("ifrs-full:ProfitLoss", 7),
        ("us-gaap:Assets", 8),
        ("ifrs-full:Equity", 6),
    ]


@pytest.mark.parametrize(("days", "are_shown"), [(460, True), (461, False)])
def test_a_figure_that_the_company_no_longer_states_is_not_among_the_newest(tmp_path, days, are_shown):
    row = fact(FIRST)
    older = {name: row[name] - timedelta(days=days) for name in ("period_start", "period_end")}
    with_facts(tmp_path, [row, row | older | {"concept": "us-gaap:GrossProfit"}])
    display = {each.concept for each in at(tmp_path, T).newest_figures}
    assert ("us-gaap:GrossProfit" in display) == are_shown
    assert row["concept"] in display


def test_a_line_item_continues_when_the_company_changes_its_xbrl_concept(tmp_path):
    old, day = fact(FIRST, concept="us-gaap:SalesRevenueNet"), timedelta(days=91)
    new = fact(AGAIN, concept="us-gaap:Revenues", value="120", value_number=120.0)
    new |= {name: old[name] + day for name in ("period_start", "period_end")}
    with_facts(tmp_path, [old, new])
    (display,) = at(tmp_path, T).newest_figures
    assert (display.item, display.concept, display.value_number) == ("revenue", "us-gaap:Revenues", 120)
    (pair,) = compare.figures(at(tmp_path, FIRST), at(tmp_path, T))
    assert (pair.name, pair.mark, pair.before.value_number) == ("Revenue", "+", 100)
    (line,) = at(tmp_path, T).quarters.values()
    assert [figure.value_number for figure in line.values()] == [120, 100]


def test_a_ticker_resolves_to_the_company_with_the_newest_statement(root):
    assert at(root, instant("2024-01-06T00:00:00Z")).ciks == ("0000000009",)
    assert at(root, T).ciks == ("0000000001",)


def test_a_release_is_dated_by_its_first_publication(root):
    reply = at(root, T)
    february = [(move.label, move.to) for move in reply.releases if move.to.month == FIRST.month]
    assert february == [("call", HELD), ("10-Q", FIRST), ("8-K", FIRST - timedelta(days=5))]
    filing = next(each for each in reply.filings if each.form_type == "10-Q" and each.first_public == FIRST)
    assert (filing.available_at, filing.evidence) == (REVISED, "neo4j:Report:again")
    assert back(instant("2024-05-01T00:00:00Z"), reply.releases)[0].to == HELD


def test_a_revised_text_is_a_separate_event_in_a_comparison(root):
    def between(first, second):
        result = compare.events(at(root, first), at(root, second))
        return [(each.what, each.at) for each in result]

    assert between(FIRST - timedelta(hours=1), FIRST + timedelta(days=1)) == [("filing", FIRST), ("call", HELD)]
    assert between(SEEN, T) == [("revised", REVISED), ("revised", REVISED)]


def test_the_page_distinguishes_first_publication_from_this_vintage(root):
    with browsing(root) as client:
        page = client.get(Address(T, "QBG").url()).text
    (row,) = re.findall(r"<li><span><b>10-Q</b>(?:(?!</li>).)*this vintage.*?</li>", page)
    assert re.findall(r'<time datetime="([^"]+)"', row) == [iso(FIRST), iso(REVISED)]
    assert re.search(r"text public since .*?; this vintage ", page)


def test_the_heatmap_shades_by_statement_count_and_marks_multiple_values(root):
    with browsing(root) as client:
        for at, shade, reply in ((FIRST, "h1", "stated once"), (AGAIN, "h2 r", "stated 2 times, 2 values")):
            heat = re.search(r'id="h-heat".*?</section>', client.get(Address(at, "QBG").url()).text, re.DOTALL)[0]
            assert re.findall(r'<td class="(h[^"]*)"', heat) == [shade]
            assert reply in heat
            assert "A quarter that no filing states by itself has no column" in heat


def test_upcoming_events_are_shown_as_planned_at_t(root):
    def ahead(client, as_of):
        page = client.get(Address(as_of, "QBG").url()).text
        plan = re.search(r'id="h-plan".*?</section>|$', page, re.DOTALL)[0]
        return re.findall(r"<li><span>(\d+ \w+ \d+): (.*?) <span", plan)

    with browsing(root) as client:
        assert ahead(client, PLANNED - timedelta(seconds=1)) == []
        assert ahead(client, PLANNED) == [("2 May 2024", "earnings")]
        assert ahead(client, MOVED) == [("9 May 2024", "earnings")]
        assert ahead(client, instant("2024-05-09T12:00:00Z")) == []  # the event is today
