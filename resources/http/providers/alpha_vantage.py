"""Alpha Vantage: a single address, refusals with HTTP 200 under three keys, and valid but empty answers.

The sentence of a refusal states its meaning: `Information` may mean a daily limit, a limit per second, a premium
endpoint or a demo key. Valid empty answers are retried, because they can be wrong under load.
"""

from collections.abc import Mapping
from typing import Any

from pitlake.errors import Unparsable
from resources.http.capture import Capture
from resources.http.csv_lines import cells
from resources.http.provider import KEY_NOT_ACCEPTED, OK, Assessment, Provider, judge_status, refused, retry

REFUSALS = ("Error Message", "Information", "Note")
PAUSES = ("per second", "sparingly", "spreading out", "burst pattern", "call frequency", "calls per minute")
DAILY = ("requests per day", "daily rate limit", "calls per day")
OTHER_SHAPE = "answer has an unknown format"
EMPTY = "no data"

LISTS = {"EARNINGS": ("quarterlyEarnings", "annualEarnings"), "EARNINGS_ESTIMATES": ("estimates",)}
HEADERS = {"EARNINGS_CALENDAR": {"symbol", "reportDate", "fiscalDateEnding"}}
BARS = {"open", "high", "low", "close", "volume"}


def judge(capture: Capture) -> Assessment:
    """Judge by the status, then by the content."""
    verdict = judge_status(capture)
    if verdict.outcome != "ok":
        return verdict
    text = capture.text().strip()
    if not text:
        return retry("the answer is blank")
    if text[0] == "{":
        return _judge_object(capture)
    if text[0] in "<[":
        return retry("the answer is not a JSON object")
    lines = cells(capture)
    try:
        header, first = {name.strip() for name in next(lines, ())}, next(lines, None)
    except Unparsable:
        return retry("the answer is not CSV")
    if not HEADERS.get(dict(capture.params).get("function", ""), BARS | {"timestamp"}) <= header:
        return refused("upstream_error", OTHER_SHAPE)
    return OK if first else retry(EMPTY, "no_data")


def _judge_object(capture: Capture) -> Assessment:
    try:
        answer = capture.json()
    except Unparsable:
        return retry("the answer is not JSON")
    refusals = [key for key in REFUSALS if key in answer]
    function = dict(capture.params).get("function", "")
    data = _data(answer, function)
    if refusals and not data:
        return _refusal(refusals[0], str(answer[refusals[0]]))
    if not answer:
        return retry(EMPTY, "no_data")
    if data is None or function in HEADERS:
        return refused("upstream_error", OTHER_SHAPE)
    return OK if data else retry(EMPTY, "no_data")


def _data(answer: Mapping[str, Any], function: str) -> bool | None:
    """Return whether the answer has the data of the function; None if the field itself is missing."""
    if function in LISTS:
        places = [answer.get(name) for name in LISTS[function]]
        return any(places) if all(isinstance(place, list) for place in places) else None
    series = [value for name, value in answer.items() if "Time Series" in name and isinstance(value, dict)]
    return any(series) if series else None


def _refusal(key: str, sentence: str) -> Assessment:
    text = sentence.lower()
    # These sentences also mention the daily limit, so they are checked first.
    if any(words in text for words in PAUSES):
        return retry("too many requests at once")
    if any(words in text for words in DAILY):
        return refused("upstream_error", "daily limit reached")
    if "premium" in text:
        return refused("upstream_error", "premium endpoint")
    if "apikey" in text or "api key" in text:
        return refused("upstream_error", KEY_NOT_ACCEPTED)
    if key == "Error Message":
        return refused("upstream_error", "the source does not know the symbol or the call")
    return refused("upstream_error", "refused without a known reason")


PROVIDER = Provider(
    name="alpha_vantage",
    base_url="https://www.alphavantage.co",
    rate=(1, 1.2),
    secrets={"apikey": ("ALPHAVANTAGE_API_KEY", "ALPHA_VANTAGE_API_KEY")},
    public=("demo",),
    names=("function", "symbol", "interval"),
    judge=judge,
)
