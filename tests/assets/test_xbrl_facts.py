"""Facts: exclusive period ends, separators, precision, and every way in which a fact can lack what identifies it."""

from datetime import date

import pytest

from assets.extraction import Row
from assets.graph.xbrl_facts import EXTRACTOR, precision, qualified_name

AXIS = "320193:http://fasb.org/srt/2024:srt:ProductOrServiceAxis"


def fact(**changes):
    return {
        "node": "https://example.org/doc_us-gaap:Revenues_c-1_usd_f-32",
        "concept": "us-gaap:Revenues",
        "value": "90,753,000,000",
        "decimals": "-6",
        "is_numeric": "1",
        "is_nil": "0",
        "fact_id": "f-32",
        "xbrl_status": "COMPLETED",
        "concepts": [["Revenues", "credit"]],
        "periods": [["duration", "2024-01-01", "2024-04-01"]],
        "units": ["iso4217:USD"],
        "contexts": [[]],
        "members": [],
        "accession_no": "0000320193-24-000069",
        "form_type": "10-Q",
        "report_cik": "0000320193",
        "created": "2024-05-02T16:31:05-04:00",
        "filers": [["0000320193", "AAPL"]],
        "referenced": [],
    } | changes


def values(run, **changes):
    return EXTRACTOR.normalise(fact(**changes), run).values


def reason(run, **changes):
    return EXTRACTOR.normalise(fact(**changes), run).reason


def test_separators_go_and_digits_stay(run):
    result = values(run)
    assert (result["value"], result["value_number"], result["decimals"]) == ("90753000000", 90753000000.0, "-6")


def test_ends_are_stored_a_day_late_and_starts_are_not(run):
    result = values(run)
    assert (result["period_start"], result["period_end"]) == (date(2024, 1, 1), date(2024, 3, 31))


def test_instants_are_kept_in_the_start_a_day_late(run):
    result = values(run, periods=[["instant", "2024-04-01", "null"]])
    assert (result["period_start"], result["period_end"]) == (None, date(2024, 3, 31))


def test_forever_has_no_days(run):
    result = values(run, periods=[["forever", "null", "null"]])
    assert (result["period_type"], result["period_start"], result["period_end"]) == ("forever", None, None)


def test_a_fact_with_two_contexts_comes_out_once(run):
    result = values(run, contexts=[[AXIS], [AXIS]], members=["aapl:IPhoneMember", "aapl:IPhoneMember"])
    assert (result["members"], result["member_count"]) == ("aapl:IPhoneMember", 1)
    assert result["dimensions"] == "srt:ProductOrServiceAxis"


def test_members_are_sorted(run):
    result = values(run, contexts=[[AXIS, AXIS + "2"]], members=["b:Member", "a:Member"])
    assert (result["members"], result["member_count"]) == ("a:Member|b:Member", 2)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"xbrl_status": "PROCESSING"}, "XBRL of the filing is not complete"),
        ({"filers": [], "referenced": [["0000320193", "AAPL"]]}, "no company"),
        ({"concepts": []}, "no concept"),
        ({"periods": []}, "no period"),
        ({"periods": [["instant", "0001-01-01", "null"]]}, "period is impossible"),
        ({"periods": [["instant", "2024-04-01", "null"], ["instant", "2023-04-01", "null"]]}, "several periods"),
        ({"periods": [["duration", "2024-04-01", "2024-04-01"]]}, "period is impossible"),
        ({"periods": [["duration", "null", "2024-04-01"]]}, "period is impossible"),
        ({"periods": [["quarter", "2024-01-01", "2024-04-01"]]}, "period is impossible"),
        ({"contexts": []}, "no context"),
        ({"contexts": [[AXIS], []], "members": ["a:Member"]}, "contexts disagree"),
        ({"contexts": [[AXIS]]}, "typed dimension without its value"),
        ({"value": "about 3"}, "value is not a number"),
        ({"value": "null"}, "value is not a number"),
        ({"is_nil": "perhaps"}, "is_nil is unreadable"),
        ({"created": ""}, "acceptance instant missing or unreadable"),
    ],
)
def test_facts_that_are_gaps(run, change, expected):
    assert reason(run, **change) == expected


def test_a_fact_without_a_filing_is_an_undated_gap(run):
    gap = EXTRACTOR.normalise({"node": "f"}, run)
    assert (gap.reason, gap.day, gap.locator) == ("no parent filing", None, "neo4j:Fact:f")


@pytest.mark.parametrize(
    ("status", "expected"), [("COMPLETED", "filing has no facts"), ("FAILED", "XBRL of the filing is not complete")]
)
def test_a_filing_without_facts_is_a_gap(run, status, expected):
    record = {key: value for key, value in fact(xbrl_status=status).items() if key != "node"}
    gap = EXTRACTOR.normalise(record, run)
    assert (gap.type, gap.reason, gap.locator) == ("no_data", expected, "neo4j:Report:0000320193-24-000069")


def test_nil_has_no_value(run):
    result = values(run, is_nil="1", value="null")
    assert (result["value"], result["value_number"], result["is_nil"]) == (None, None, True)


def test_text_facts_keep_their_commas(run):
    result = values(run, is_numeric="0", value="One, two", units=[], decimals="null")
    assert (result["value"], result["value_number"], result["unit"], result["decimals"]) == (
        "One, two",
        None,
        None,
        None,
    )


def test_infinite_precision_beats_any_then_digits_count():
    ranked = sorted(
        [
            fact(decimals="INF", value="1"),
            fact(decimals="2", value="1.25"),
            fact(decimals="-3", value="1,234,000"),
            fact(decimals="-3", value="1,230,000"),
            fact(decimals="null"),
        ],
        key=precision,
        reverse=True,
    )
    assert [each["value"] for each in ranked] == ["1", "1.25", "1,234,000", "1,230,000", "90,753,000,000"]


def test_axes_are_named_without_cik_and_namespace():
    assert qualified_name(AXIS) == "srt:ProductOrServiceAxis"


@pytest.mark.parametrize("status", [None, "", "null"])
def test_facts_of_a_filing_without_a_status_are_read(run, status):
    assert isinstance(EXTRACTOR.normalise(fact(xbrl_status=status), run), Row)
