"""Articles: their dates, nodes that are not news, and the spellings of their lists."""

from datetime import date, datetime, timedelta, timezone

import pytest

from assets.extraction import Gap, Row
from assets.graph.news import EXTRACTOR


def article(**changes):
    record = {
        "id": "bzNews_123",
        "title": "Apple reports",
        "teaser": "",
        "body": "Text.",
        "url": "https://example.org/1",
        "authors": '["A. Writer"]',
        "channels": '["News", "Earnings"]',
        "tags": '["Software &amp; Apps"]',
        "market_session": "post_market",
        "created": "2024-05-02T16:30:00-04:00",
        "updated": "2024-05-02T16:30:00-04:00",
        "tickers": ["QBAR", "AAPL", "AAPL"],
    } | changes
    texts = [text for text in (record["created"], record["updated"]) if isinstance(text, str)]
    return {"latest": max(texts, default=None)} | record


def test_an_article_is_available_when_created(run):
    row = EXTRACTOR.normalise(article(), run)
    assert row.available_at == datetime(2024, 5, 2, 20, 30, tzinfo=timezone.utc)
    assert row.evidence == "neo4j:News:bzNews_123"
    assert (row.values["ticker"], row.values["tickers"]) == ("AAPL", ["AAPL", "QBAR"])
    assert row.values["tags"] == ["Software & Apps"]
    assert row.values["teaser"] is None


def test_an_edited_article_is_available_when_updated(run):
    row = EXTRACTOR.normalise(article(updated="2024-05-09T09:00:00-04:00"), run)
    assert row.available_at == datetime(2024, 5, 9, 13, tzinfo=timezone.utc)


def test_the_later_instant_counts_not_the_greater_text(run):
    row = EXTRACTOR.normalise(article(created="2024-05-02T16:30:00-04:00", updated="2024-05-02T20:00:00Z"), run)
    assert row.available_at == datetime(2024, 5, 2, 20, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize("updated", ["", None], ids=repr)
def test_a_missing_update_leaves_created(run, updated):
    assert isinstance(EXTRACTOR.normalise(article(updated=updated), run), Row)


@pytest.mark.parametrize(
    "created", ["", None, "2024-05-02", "soon", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"], ids=repr
)
def test_without_an_instant_there_is_no_row(run, created):
    gap = EXTRACTOR.normalise(article(created=created), run)
    assert (gap.type, gap.reason) == ("unverifiable", "created is missing or unreadable")
    assert gap.available_at is None


def test_an_unreadable_update_is_a_gap_on_the_day_of_its_text(run):
    gap = EXTRACTOR.normalise(article(updated="2024-05-09 noon"), run)
    assert (gap.reason, gap.day) == ("updated is unreadable", date(2024, 5, 9))


@pytest.mark.parametrize("name", ["bzNews_0000320193-25-000073", "0000320193-25-000073", None, " "])
def test_a_filing_gone_astray_is_no_news(run, name):
    gap = EXTRACTOR.normalise(article(id=name, title="", body=""), run)
    assert gap.reason == "not a news id"


def test_an_article_without_text_is_a_gap_that_is_as_old_as_the_article(run):
    gap = EXTRACTOR.normalise(article(title=" ", body=None), run)
    assert (gap.type, gap.reason) == ("no_data", "no text")
    assert gap.available_at == datetime(2024, 5, 2, 20, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("channels", "read"),
    [
        ("Earnings", ["Earnings"]),
        ("Earnings, Guidance", ["Earnings", "Guidance"]),
        ("[broken", ["[broken"]),
        ("{}", ["{}"]),
        (["Earnings"], ["Earnings"]),
        ('["M&A, again", 7, ""]', ["M&A, again", "7"]),
        ("[]", []),
        ("", None),
        (None, None),
    ],
)
def test_lists_are_read_however_they_are_spelled(run, channels, read):
    row = EXTRACTOR.normalise(article(channels=channels, tags=channels), run)
    assert (row.values["channels"], row.values["tags"]) == (read, read)


@pytest.mark.parametrize("name", ["reuters-123", "bzNews_a1", 4711, "urn:newsml:x:1"])
def test_an_article_may_have_any_id(run, name):
    row = EXTRACTOR.normalise(article(id=name), run)
    assert (row.values["id"], row.evidence) == (str(name), f"neo4j:News:{name}")


@pytest.mark.parametrize(
    ("statement", "micros"), [("123456789", 123457), ("123456000", 123456), ("999999999", 1_000_000), ("0000001", 1)]
)
@pytest.mark.parametrize(
    "form", ["2024-05-02T16:30:00.{}-04:00", "2024-05-02 16:30:00.{}-0400", "2024-05-02T20:30:00.{}Z"]
)
def test_nanoseconds_are_rounded_up(run, statement, micros, form):
    row = EXTRACTOR.normalise(article(created=form.format(statement), updated=None), run)
    assert row.available_at == datetime(2024, 5, 2, 20, 30, tzinfo=timezone.utc) + timedelta(microseconds=micros)


def test_what_is_not_public_yet_is_a_gap_of_its_own_day(run):
    gap = EXTRACTOR.normalise(article(created="2030-01-01T09:00:00-05:00"), run)
    assert isinstance(gap, Gap)
    assert (gap.type, gap.available_at, gap.day) == ("pit_excluded", None, date(2030, 1, 1))


def test_an_article_without_text_that_claims_a_later_date_is_a_gap_as_of_the_observation(run):
    gap = EXTRACTOR.normalise(article(title="", body="", updated="2030-01-01T09:00:00-05:00"), run)
    assert (gap.type, gap.reason, gap.available_at) == ("no_data", "no text", None)
