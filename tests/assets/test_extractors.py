"""Extractors turn graph records into dated rows, or into gaps with reasons from the contract."""

import math
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import pytest

from assets.extraction import Gap, Row
from assets.graph import all_extractors
from assets.graph._calls import RICHER_CALL, id_shape
from assets.graph._filings import company
from assets.graph.embeddings import vector
from assets.graph.xbrl_facts import precision, qualified_name
from pitlake.clock import new_york_day
from pitlake.errors import Unreadable
from tests.assets.records import AXIS, fact, record, report

CONTENT = ("report_sections", "exhibits", "financial_statements", "filing_texts")
SPOKEN = ("transcripts", "prepared_remarks", "qa_exchanges", "embeddings of exchanges")
START = datetime(2024, 5, 2, 21, tzinfo=timezone.utc)


def at(text):
    return datetime.fromisoformat(f"2024-{text}+00:00")


def normalised(run, name, **changes):
    extractor = all_extractors()[name.partition(" ")[0]]
    return extractor.normalise(next(iter(extractor.split(record(name, **changes)))), run)


CLOSE, ACCEPTED, PUBLISHED = at("05-01T20:00"), at("05-02T20:31:05"), at("05-02T20:30")
LISTS = [
    ("Earnings", ["Earnings"]), ("Earnings, Guidance", ["Earnings", "Guidance"]), ("[broken", ["[broken"]),
    ("{}", ["{}"]), (["Earnings"], ["Earnings"]), ('["M&A, again", 7, ""]', ["M&A, again", "7"]), ("[]", []),
    ("", None), (None, None),
]  # fmt: skip
ROWS = [
    ("prices", {}, {"available_at": CLOSE, "volume": 50383147.5,
                    "evidence": "neo4j:Date:2024-05-01/HAS_PRICE/Company:0000320193"}),
    ("prices", {"close_at": "2024-05-01 13:00:00-0400"}, {"available_at": CLOSE}),
    ("prices", {"stamp": "2024-05-01 13:00:00-0400"}, {"available_at": CLOSE}),
    ("prices", {"vwap": math.nan, "stamp": None}, {"vwap": None, "available_at": CLOSE}),
    *(("prices", {"label": label, "entity_id": "Oil", "symbol": "XLE"}, {"entity_kind": kind, "symbol": "XLE"})
      for label, kind in (("Industry", "industry"), ("Sector", "sector"), ("MarketIndex", "index"))),
    ("dividends", {}, {"available_at": at("05-02T04:00"), "cash_amount": 0.25, "ex_dividend_date": date(2024, 5, 10)}),
    ("dividends", {"dividend_type": "null"}, {"dividend_type": "UNKNOWN"}),
    ("splits", {"split_from": "1,000", "split_to": "1,015.5"}, {"split_from": 1000.0, "split_to": 1015.5}),
    ("calendar", {}, {"is_early_close": True, "available_at": at("07-03T17:00")}),
    ("calendar", {"date": "2024-07-04", "is_trading_day": "0", "market_close": None},
     {"available_at": at("07-05T04:00"), "market_open": None, "is_early_close": False}),
    ("companies", {}, {"available_at": datetime(2026, 1, 1, tzinfo=timezone.utc), "cik": "0000320193",
                       "mkt_cap": 81035171840.0, "shares_out": None}),
    ("transcripts", {"call_node": "AAPL_2024_2"},
     {"transcript_id": "AAPL_2024-05-02T17.00", "fiscal_year": 2024, "conference_datetime": START}),
    ("transcripts", {"qa_sections": ['[{"text": "Q"}]'], "full_texts": ["All of it."]},
     {"qa_section": '[{"text":"Q"}]', "full_text": "All of it."}),
    ("qa_exchanges", {}, {"sequence": 0}),
    ("embeddings", {}, {"kind": "news", "id": "bzNews_1", "ticker": "QBG", "vector": [0.5, -1.0],
                        "available_at": at("05-02T22:00")}),
    ("embeddings of exchanges", {}, {"id": "AAPL_2024-05-02T17.00_qa__3", "ticker": "AAPL",
                                     "available_at": at("05-03T21:00")}),
    ("reports", {}, {"available_at": ACCEPTED, "evidence": "neo4j:Report:0000320193-24-000069", "cik": "0000320193",
                     "role": "primary_filer", "period_of_report": date(2024, 5, 2),
                     "exhibits": '{"EX-99.1":"https://example.org/ex"}'}),
    ("reports", {"filers": [], "referenced": [["0000320193", "AAPL"], ["0000000100", "AA"]], "report_cik": ""},
     {"role": "referenced", "cik": "0000000100", "ticker": "AA", "tickers": ["AA", "AAPL"]}),
    ("reports", {"filers": [], "report_cik": "77"}, {"role": "none", "cik": "0000000077", "ticker": None}),
    ("reports", {"items": ""}, {"items": None}),
    ("reports", {"items": "Item 2.02"}, {"items": ["Item 2.02"]}),
    *(("reports", {name: '{"a": '}, {name: '"{\\"a\\": "'}) for name in ("entities", "exhibits")),
    *((name, {}, {"available_at": ACCEPTED, "ticker": "AAPL"}) for name in CONTENT),
    ("report_sections", {"section_name": "Management’sDiscussion"},
     {"section_name": "Management’sDiscussion", "content_length": 73713}),
    ("exhibits", {}, {"exhibit_number": "EX-99.1 CHARTER"}),
    ("financial_statements", {}, {"value": '{"b":[1],"a":[]}', "period_end": None}),
    ("news", {}, {"available_at": PUBLISHED, "evidence": "neo4j:News:bzNews_123", "ticker": "AAPL",
                  "tickers": ["AAPL", "QBAR"], "tags": ["Software & Apps"], "teaser": None}),
    ("news", {"updated": "2024-05-09T09:00:00-04:00"}, {"available_at": at("05-09T13:00")}),
    ("news", {"updated": "2024-05-02T20:00:00Z"}, {"available_at": PUBLISHED}),
    *(("news", {"updated": missing}, {"available_at": PUBLISHED}) for missing in ("", None)),
    *(("news", {"channels": text, "tags": text}, {"channels": names, "tags": names}) for text, names in LISTS),
    *(("news", {"id": name}, {"id": str(name), "evidence": f"neo4j:News:{name}"})
      for name in ("reuters-123", "bzNews_a1", 4711, "urn:newsml:x:1")),
    *(("news", {"created": form.format(text), "updated": None},
       {"available_at": PUBLISHED + timedelta(microseconds=more)})
      for form in ("2024-05-02T16:30:00.{}-04:00", "2024-05-02 16:30:00.{}-0400", "2024-05-02T20:30:00.{}Z")
      for text, more in (("123456789", 123457), ("123456000", 123456), ("999999999", 1_000_000), ("0000001", 1))),
    ("xbrl_facts", {}, {"value": "90753000000", "value_number": 90753000000.0, "decimals": "-6",
                        "period_start": date(2024, 1, 1), "period_end": date(2024, 3, 31)}),
    ("xbrl_facts", {"periods": [["instant", "2024-04-01", "null"]]},
     {"period_start": None, "period_end": date(2024, 3, 31)}),
    ("xbrl_facts", {"periods": [["forever", "null", "null"]]},
     {"period_type": "forever", "period_start": None, "period_end": None}),
    ("xbrl_facts", {"contexts": [[AXIS], [AXIS]], "members": ["aapl:IPhoneMember", "aapl:IPhoneMember"]},
     {"members": "aapl:IPhoneMember", "member_count": 1, "dimensions": "srt:ProductOrServiceAxis"}),
    ("xbrl_facts", {"contexts": [[AXIS, AXIS + "2"]], "members": ["b:Member", "a:Member"]},
     {"members": "a:Member|b:Member", "member_count": 2}),
    ("xbrl_facts", {"is_nil": "1", "value": "null"}, {"value": None, "value_number": None, "is_nil": True}),
    ("xbrl_facts", {"is_numeric": "0", "value": "One, two", "units": [], "decimals": "null"},
     {"value": "One, two", "value_number": None, "unit": None, "decimals": None}),
    *(("xbrl_facts", {"xbrl_status": status}, {"value": "90753000000"}) for status in (None, "", "null")),
    ("event_returns", {"edge": {"daily_stock": 5.06}},
     {"available_at": at("05-03T20:00"), "window_end": at("05-03T20:00"),
      "evidence": "neo4j:News:bzNews_1/INFLUENCES/Company:0000320193/daily/stock"}),
    ("event_returns", {"edge": {"daily_stock": [1.5, 2.5]}}, {"percent": 1.5}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "due"), ROWS, ids=[f"{name} {changes}"[:90] for name, changes, _ in ROWS])
def test_a_readable_record_becomes_a_row_with_the_expected_values(run, name, changes, due):
    row = normalised(run, name, **changes)
    assert isinstance(row, Row), row
    facts = row.values | {"available_at": row.available_at, "evidence": row.evidence}
    assert {column: facts[column] for column in due} == due


UNDATED = "acceptance instant missing or unreadable"
NO_START, NO_WINDOW = "conference_datetime is missing or unreadable", "window end is missing or unreadable"
MIDNIGHTS = (
    "2024-05-02T00:00:00-04:00", "2024-05-02T00:00:00.000-07:00", "2024-05-02 00:00:00-0700", "2024-05-02T04:00:00Z",
    "2024-11-03T04:00:00+00:00",
)  # fmt: skip
LATE, DAILY = "2030-01-01T09:00:00-05:00", {"edge": {"daily_stock": 5.06}}
GAPS = [
    ("prices", {"close_at": None}, "no market close on that day"),
    ("prices", {"close_at": "2024-05-02 16:00:00-0400"}, "market close is on another day"),
    ("prices", {"date": "0001-01-01", "close_at": "0001-01-01T00:00:00Z"}, "no market close on that day"),
    ("prices", {"stamp": "yesterday"}, "bar stamp is unreadable"),
    ("prices", {"stamp": "2024-05-03 16:00:00-0400"}, "bar stamp is on another day"),
    ("prices", {"symbol": None}, "no symbol"),
    ("prices", {"label": "Commodity"}, "no symbol"),
    ("prices", {"open": math.nan, "high": None, "low": None, "close": math.nan}, "no price"),
    ("prices", {"volume": "many"}, "volume is unreadable"),
    ("dividends", {"date_nodes": []}, "no date node"),
    ("dividends", {"date_nodes": [["2024-05-01", None]]}, "no market close on that day"),
    ("dividends", {"date_nodes": [["2024-05-01", "0001-01-01 00:00:00+0000"]]}, "no market close on that day"),
    ("dividends", {"date_nodes": [["2024-05-02", "2024-05-02 16:00:00-0400"]]},
     "declaration date differs from its date node"),
    ("dividends", {"date_nodes": [["2024-05-01", "2024-05-02 16:00:00-0400"]]}, "market close is on another day"),
    *(("dividends", {"cash_amount": text}, "amount is missing or zero") for text in ("0", "null", "a quarter")),
    ("dividends", {"ticker": None}, "no ticker"),
    ("dividends", {"pay_date": "soon"}, "pay_date is unreadable"),
    *(("splits", {side: ratio}, "ratio is missing or unknown")
      for side in ("split_to", "split_from") for ratio in ("UNKNOWN", "null", "0", "-1", None)),
    ("calendar", {"market_close": None}, "trading day without a close"),
    ("calendar", {"market_close": "2024-07-05 13:00:00-0400"}, "market close is on another day"),
    ("calendar", {"is_trading_day": None}, "is_trading_day is unreadable"),
    ("calendar", {"date": "someday"}, "date is unreadable"),
    ("calendar", {"date": "9999-12-31", "is_trading_day": "0"}, "date is unreadable"),
    ("calendar", {"date": "0001-01-01", "market_close": "0001-01-01T00:00:00Z"}, "trading day without a close"),
    ("calendar", {"next_trading_date": "friday"}, "next_trading_date is unreadable"),
    ("companies", {"ticker": ""}, "no CIK or ticker"),
    *((name, {"conference_datetime": start}, NO_START) for name in ("transcripts", "prepared_remarks")
      for start in (None, "", "2024-05-02", "1970-01-01T00:00:00Z", *MIDNIGHTS)),
    ("transcripts", {"ticker": "null"}, "no ticker"),
    *(("qa_exchanges", {"sequence": text}, "sequence is unreadable") for text in (None, "first", "-1", "1.5")),
    *(("embeddings", {"vector": wrong}, "vector is unreadable") for wrong in ([0.0, 0.0], "[1, 2]")),
    ("embeddings", {"id": "0000320193-25-000073"}, "not a news id"),
    ("embeddings", {"created": None, "updated": None}, "created is missing or unreadable"),
    ("embeddings", {"title": None}, "no text"),
    ("embeddings of exchanges", {"sequence": "third"}, "sequence is unreadable"),
    ("embeddings of exchanges", {"conference_datetime": "soon"}, NO_START),
    *((name, {"form_type": form}, {"type": "unverifiable", "reason": "made public after its acceptance"})
      for name in ("reports", *CONTENT) for form in ("CORRESP", "UPLOAD", "drs/a ", "DOSLTR")),
    *((name, {"created": text}, {"type": "unverifiable", "reason": UNDATED})
      for name in ("reports", *CONTENT) for text in (None, "", "2024-05-02T16:31:05", "1970-01-01T00:00:00Z")),
    *(("reports", {"items": text}, "items is unreadable") for text in ('["Item 2.02', "not json", "{}")),
    ("financial_statements", {"value": "{"}, {"reason": "value is unreadable", "available_at": ACCEPTED}),
    *(("news", {"created": text},
       {"type": "unverifiable", "reason": "created is missing or unreadable", "available_at": None})
      for text in ("", None, "2024-05-02", "soon", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z")),
    ("news", {"updated": "2024-05-09 noon"}, {"reason": "updated is unreadable", "day": date(2024, 5, 9)}),
    *(("news", {"id": name, "title": "", "body": ""}, "not a news id")
      for name in ("bzNews_0000320193-25-000073", "0000320193-25-000073", None, " ")),
    ("news", {"title": " ", "body": None}, {"type": "no_data", "reason": "no text", "available_at": PUBLISHED}),
    ("news", {"title": "", "body": "", "updated": LATE},
     {"type": "no_data", "reason": "no text", "available_at": None}),
    ("news", {"created": LATE}, {"type": "pit_excluded", "available_at": None, "day": date(2030, 1, 1)}),
    ("xbrl_facts", {"xbrl_status": "PROCESSING"}, "XBRL of the filing is not complete"),
    ("xbrl_facts", {"filers": [], "referenced": [["0000320193", "AAPL"]]}, "no company"),
    ("xbrl_facts", {"concepts": []}, "no concept"),
    ("xbrl_facts", {"periods": []}, "no period"),
    ("xbrl_facts", {"periods": [["instant", "2024-04-01", "null"], ["instant", "2023-04-01", "null"]]},
     "several periods"),
    *(("xbrl_facts", {"periods": [period]}, "period is impossible") for period in (
        ["instant", "0001-01-01", "null"], ["duration", "2024-04-01", "2024-04-01"], ["duration", "null", "2024-04-01"],
        ["quarter", "2024-01-01", "2024-04-01"])),
    ("xbrl_facts", {"contexts": []}, "no context"),
    ("xbrl_facts", {"contexts": [[AXIS], []], "members": ["a:Member"]}, "contexts disagree"),
    ("xbrl_facts", {"contexts": [[AXIS]]}, "typed dimension without its value"),
    *(("xbrl_facts", {"value": text}, "value is not a number") for text in ("about 3", "null")),
    ("xbrl_facts", {"is_nil": "perhaps"}, "is_nil is unreadable"),
    ("xbrl_facts", {"created": ""}, UNDATED),
    *(("event_returns", {"edge": {"daily_stock": wrong}}, "return is not a number") for wrong in (math.nan, [])),
    ("event_returns", DAILY | {"schedule": None}, {"reason": NO_WINDOW, "day": date(2024, 5, 2)}),
    *(("event_returns", DAILY | changes, reason) for changes, reason in (
        ({"schedule": "{broken"}, NO_WINDOW),
        ({"schedule": '{"daily": "2024-05-02T13:00:00-04:00"}'}, "window ends before its event"),
        ({"schedule": '{"daily": "2025-05-02T13:00:00-04:00"}'}, "window ends too far from its event"),
        ({"event_id": "bzNews_0000320193-25-000073"}, "not a news id"),
        ({"happened_at": ""}, "event is undated"), ({"label": "Commodity"}, "unknown kind of entity"))),
    ("event_returns",
     DAILY | {"happened_at": "2026-01-01T00:00:00+00:00", "schedule": '{"daily": "2026-01-02T00:00:00+00:00"}'},
     {"type": "pit_excluded", "reason": "window is still open", "available_at": None}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "changes", "due"), GAPS, ids=[f"{name} {changes}"[:90] for name, changes, _ in GAPS])
def test_an_unusable_record_becomes_a_gap_with_the_expected_reason(run, name, changes, due):
    gap = normalised(run, name, **changes)
    assert isinstance(gap, Gap), gap
    due = due if isinstance(due, dict) else {"reason": due}
    assert {what: getattr(gap, what) for what in due} == due
    if name == "dividends":  # its partition is the day it became public, or else its own day
        assert gap.day == date(2024, 5, 2 if gap.available_at else 1)


LOST = dict.fromkeys((*CONTENT, "xbrl_facts"), "no parent filing") | dict.fromkeys(
    ("prepared_remarks", "qa_exchanges", "embeddings of exchanges"), "no parent transcript"
)


@pytest.mark.parametrize("name", LOST)
def test_a_part_without_its_filing_or_transcript_is_an_undated_gap(run, name):
    lost = {"node": "n1", "kind": "qa_exchange"} if name.startswith("embeddings") else {"node": "n1"}
    gap = all_extractors()[name.partition(" ")[0]].normalise(lost, run)
    assert (gap.reason, gap.day, gap.available_at) == (LOST[name], None, None)
    assert name != "xbrl_facts" or gap.locator == "neo4j:Fact:n1"


@pytest.mark.parametrize(
    ("status", "expected"), [("COMPLETED", "filing has no facts"), ("FAILED", "XBRL of the filing is not complete")]
)
def test_a_filing_without_facts_is_a_gap(run, status, expected):
    empty = {key: value for key, value in fact(xbrl_status=status).items() if key != "node"}
    gap = all_extractors()["xbrl_facts"].normalise(empty, run)
    assert (gap.type, gap.reason, gap.locator) == ("no_data", expected, "neo4j:Report:0000320193-24-000069")


@pytest.mark.parametrize("name", SPOKEN)
def test_call_texts_count_a_day_after_the_start_or_after_the_configured_lag(run, name):
    assert normalised(run, name).available_at == START + timedelta(hours=24)
    lagging = replace(run, publication_lag=timedelta(hours=4))
    assert normalised(lagging, name).available_at == START + timedelta(hours=4)


@pytest.mark.parametrize("name", SPOKEN)
def test_the_publication_lag_ends_within_the_look_back_of_a_partition(run, name):
    trail = all_extractors()[name.partition(" ")[0]].trail
    for day in ("2024-03-09", "2024-03-10", "2024-05-02", "2024-11-02", "2024-11-03"):
        for spelled in (f"{day}T{hour:02d}:30:00-05:00" for hour in range(24)):
            row = normalised(run, name, conference_datetime=spelled)
            start = datetime.fromisoformat(spelled)
            assert 0 <= (new_york_day(row.available_at) - new_york_day(start)).days <= trail


def test_dividends_look_back_a_single_day():
    assert all_extractors()["dividends"].trail == 1


def test_the_id_of_an_exchange_vector_joins_the_qa_exchanges_dataset(run):
    text = normalised(run, "qa_exchanges", sequence="3").values
    assert normalised(run, "embeddings of exchanges").values["id"] == f"{text['transcript_id']}_qa__{text['sequence']}"


@pytest.mark.parametrize(
    ("node", "shape"),
    [("ATEC_2025-07-31T16.30", 2), ("ATEC_2025-07-31T16:30:00-04:00", 1), ("ATEC_2025_2", 0), ("BRK.B_2025_3", 0)],
)
def test_transcript_id_shapes_are_distinguished(node, shape):
    assert id_shape(node) == shape


def test_the_transcript_with_more_exchanges_wins_then_the_newer_id_shape():
    rank, call = RICHER_CALL.rank, record("transcripts")
    assert rank(call | {"exchange_count": 22, "call_node": "X_2025_2"}) > rank(call | {"exchange_count": 16})
    assert rank(call) > rank(call | {"call_node": "AAPL_2024_2"})


def test_the_registrant_named_by_the_filing_wins_over_other_filers():
    filers = [["0000000001", "A"], ["0000320193", "AAPL"]]
    assert company(report(filers=filers)) == ("0000320193", "AAPL")
    assert company(report(filers=filers, report_cik=None)) == ("0000000001", "A")


def test_facts_rank_by_stated_precision_then_by_digits():
    stated = [("INF", "1"), ("2", "1.25"), ("-3", "1,234,000"), ("-3", "1,230,000")]
    facts = [*(fact(decimals=decimals, value=value) for decimals, value in stated), fact(decimals="null")]
    ranked = sorted(facts, key=precision, reverse=True)
    assert [each["value"] for each in ranked] == ["1", "1.25", "1,234,000", "1,230,000", "90,753,000,000"]


def test_axes_are_named_without_cik_and_namespace():
    assert qualified_name(AXIS) == "srt:ProductOrServiceAxis"


@pytest.mark.parametrize("value", [None, [], [None], [float("nan")], [float("inf"), 1.0], [1e39], [True], ["1"], {}])
def test_an_invalid_vector_is_unreadable(value):
    with pytest.raises(Unreadable):
        vector(value)
