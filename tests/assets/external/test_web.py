"""Web pages: the hosts whose dates are trusted, the valid claims, the use of the latest claim, and model output, which
is only a proposal.
"""

from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.external import feed
from assets.external.web._sources import ALLOWED, WESTMOST, source_of
from assets.feeds import claimed
from assets.feeds.feed import Scope
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput, Unreadable
from resources.http.capture import Request
from resources.http.providers.web import HOSTS
from tests.answers import FETCHED, captured, happened, rows

PAGES = feed("web_pages")
URL = "https://www.prnewswire.com/releases/x"
HTML = {"content-type": "text/html"}
PUBLISHED = '<meta property="article:published_time" content="2024-02-01T21:30:00Z">'


def page(head: str = "", body: str = "<p>Text.</p>", headers=HTML, feed=PAGES):
    """Return the outcomes of a page with this head and body."""
    source = f"<html><head><title>T</title>{head}</head><body>{body}</body></html>".encode()
    return happened(feed, Scope(queries=(URL,)), lambda ask: captured(feed.provider, ask, source, headers=headers))


def test_the_allow_list_and_the_provider_name_the_same_hosts():
    assert set(ALLOWED) == set(HOSTS)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/x",
        "http://www.sec.gov/x",
        "https://www.sec.gov.evil.example/x",
        "https://www.sec.gov:8443/x",
        "https://www.sec.gov@evil.example/x",
        "https://user@www.sec.gov/x",
        "https://[",
        "file:///etc/passwd",
    ],
)
def test_a_url_outside_the_allow_list_is_refused(url):
    assert source_of(url) is None
    with pytest.raises(BadInput, match="allow-list"):
        PAGES.units(Scope(queries=(url,)))


def test_an_earlier_capture_of_a_page_proves_its_claimed_date():
    scope = Scope(queries=(URL,))
    source = f"<html><head>{PUBLISHED}</head><body>Text.</body></html>".encode()
    claim = datetime(2024, 2, 1, 21, 30, tzinfo=timezone.utc)
    for body, at, counts in (
        (source, claim - timedelta(seconds=1), claim),
        (source, claim + timedelta(hours=1), claim + timedelta(hours=1)),
        (source.replace(b"Text", b"Other text"), claim, FETCHED),
    ):
        [older] = [captured(PAGES.provider, Request("x"), body, headers=HTML, fetched_at=at)]
        [row] = happened(
            PAGES,
            scope,
            lambda ask: captured(PAGES.provider, ask, source, headers=HTML),
            earlier=lambda _, older=older: [older],
        )
        assert row.available_at == counts


@pytest.mark.parametrize("head", ['<script type="application/ld+json">{"broken</script>', "<meta>", "<time datetime>"])
def test_broken_markup_still_gives_a_single_outcome(head):
    assert len(page(head)) == 1


def latest(text: str, zone=NEW_YORK) -> str:
    return claimed.latest(text, zone).isoformat()


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-02-01T16:30:00-05:00", "2024-02-01T21:30:00+00:00"),
        ("2024-02-01T16:30-0500", "2024-02-01T21:30:00+00:00"),
        ("2024-02-01 16:30:00Z", "2024-02-01T16:30:00+00:00"),
        ("2024-02-01T16:30:00.1234567Z", "2024-02-01T16:30:01+00:00"),
        ("Thu, 01 Feb 2024 16:31:02 -0400", "2024-02-01T20:31:02+00:00"),
        ("2024-02-01T16:30:00", "2024-02-01T21:31:00+00:00"),
        ("2024-11-03T01:30:00", "2024-11-03T06:31:00+00:00"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00"),
        ("2024-02-01", "2024-02-02T05:00:00+00:00"),
        ("Feb. 1, 2024", "2024-02-02T05:00:00+00:00"),
        ("1st February 2024", "2024-02-02T05:00:00+00:00"),
        ("3/4/2024", "2024-04-04T04:00:00+00:00"),
        ("2/28/2024", "2024-02-29T05:00:00+00:00"),
    ],
)
def test_a_claimed_date_is_read_as_the_latest_instant_it_can_mean(text, instant):
    assert latest(text) == instant


def test_a_time_without_a_zone_is_read_in_the_westmost_zone():
    assert latest("2024-02-01T16:30:00", WESTMOST) == "2024-02-02T04:31:00+00:00"
    assert latest("2024-02-01", WESTMOST) == "2024-02-02T12:00:00+00:00"


@pytest.mark.parametrize("text", ["", "soon", "2024", "March 2024", "13/13/2024", "February 30, 2024", "1706745600"])
def test_an_invalid_date_is_unreadable(text):
    with pytest.raises(Unreadable):
        claimed.latest(text, NEW_YORK)


ZONES = st.sampled_from(["America/New_York", "America/Los_Angeles", "Pacific/Honolulu", "Europe/London", "Asia/Tokyo"])
NAIVE = st.builds(datetime.combine, st.dates(date(1995, 1, 1), date(2040, 1, 1)), st.times())
SPELLINGS = (
    "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%B %d, %Y", "%d %b %Y", "%m/%d/%Y",
)  # fmt: skip


@given(NAIVE, ZONES, st.sampled_from(SPELLINGS), st.integers(0, 1))
def test_no_spelling_of_an_instant_is_read_too_early(naive, zone, spelling, fold):
    true = naive.replace(tzinfo=ZoneInfo(zone), fold=fold)
    read_as = claimed.latest(true.strftime(spelling), WESTMOST)
    if "%z" in spelling:
        true = true.replace(microsecond=0)
        assert read_as == true
    else:
        assert read_as >= true
    if spelling != "%m/%d/%Y":
        assert read_as - true <= timedelta(days=2, hours=3)


@given(st.lists(st.dates(date(1995, 1, 1), date(2025, 3, 2)), min_size=1, max_size=4), st.randoms())
def test_a_page_is_never_dated_before_its_latest_claim_in_any_order(days, shuffler):
    tags = [f'<meta property="article:published_time" content="{day}">' for day in days]
    shuffler.shuffle(tags)
    [row] = rows(page("".join(tags)))
    assert row.values["dated_at"] >= datetime.combine(max(days), time(23, 59, 59), NEW_YORK)


def test_a_page_is_requested_at_its_host_with_a_normalised_query():
    [unit] = PAGES.units(Scope(queries=("https://www.sec.gov/x?b=2&a=1&a=3#part", "https://www.sec.gov/x?b=2&a=1&a=3")))
    requests: list[Request] = []
    played = captured(PAGES.provider, Request("x"), b"", headers=HTML)
    list(PAGES.collect(unit, lambda request: requests.append(request) or played))
    assert (requests[0].host, requests[0].path) == ("www.sec.gov", "/x")
    assert requests[0].query == (("a", "1"), ("a", "3"), ("b", "2"))
