"""SEC EDGAR: submissions, facts, full-text search, indexes and headers, without a key but with a contact address.

The search reports errors with HTTP 200. Missing files get 403 or 404 in XML, blocked callers 403 in HTML.
"""

from pitlake.datasets._external import UNPARSABLE
from pitlake.errors import Unparsable, Unreadable
from resources.http import edgar_answers
from resources.http.capture import Capture
from resources.http.provider import OK, Assessment, Provider, judge_status, refused, retry

WWW, SEARCH = "www", "search"
FORBIDDEN = 403


def judge(capture: Capture) -> Assessment:
    """Judge by the status with its body, and then by the requested kind of answer."""
    start = capture.body[:200].lstrip().lower()
    if capture.status == FORBIDDEN and start.startswith(b"<?xml"):
        return refused("no_data", "HTTP 403: there is no such file")
    if capture.status == FORBIDDEN:
        return retry("HTTP 403: too many requests, or no contact in the User-Agent")
    verdict = judge_status(capture)
    if verdict != OK:
        return verdict
    if start.startswith((b"<!doctype html", b"<html")):
        return retry("the answer is a page")
    path = capture.url
    if path.endswith("/search-index"):
        return _judge_search(capture)
    return _judge_object(capture) if path.endswith(".json") else OK


def _judge_object(capture: Capture) -> Assessment:
    try:
        content = capture.json()
    except Unparsable:
        return retry("the answer is not JSON")
    if not isinstance(content, dict):
        return refused("upstream_error", "the answer has an unknown format")
    try:
        edgar_answers.check(capture.url, content)
    except Unreadable:
        return refused(UNPARSABLE.type, UNPARSABLE.reason)
    return OK


def _judge_search(capture: Capture) -> Assessment:
    verdict = _judge_object(capture)
    if verdict != OK:
        return verdict
    answer = capture.json()
    if answer.get("timed_out") is True:
        return retry("the search timed out")
    if "errorType" in answer or "errorMessage" in answer:
        return refused("upstream_error", "the search refused the question")
    return OK if isinstance(answer.get("hits"), dict) else retry("the search answered without hits")


PROVIDER = Provider(
    name="sec_edgar",
    base_url="https://data.sec.gov",
    hosts={WWW: "https://www.sec.gov", SEARCH: "https://efts.sec.gov"},
    most_bytes=128 << 20,  # for an index of a quarter
    rate=(10, 1.0),
    contact=("SEC_EDGAR_USER_AGENT", "EDGAR_IDENTITY"),
    headers={"Accept-Encoding": "gzip, deflate"},
    judge=judge,
)
