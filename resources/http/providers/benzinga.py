"""Benzinga's news over REST. A page beyond the first 10,000 items gets HTTP 400."""

from resources.http.capture import Capture
from resources.http.provider import KEY_REFUSED, Assessment, Provider, judge_json, refused, retry

BAD_REQUEST = 400
BAD_KEY = frozenset({401, 403})
BEYOND = "page beyond the provider's window"


def judge(capture: Capture) -> Assessment:
    """Judge by the status, and a refused page by its number. A success must be a list of items."""
    if capture.status == BAD_REQUEST:
        deep = dict(capture.params).get("page", "0") != "0"
        return refused("upstream_error", BEYOND if deep else "HTTP 400")
    if capture.status in BAD_KEY:
        return refused("upstream_error", KEY_REFUSED)
    verdict = judge_json(capture)
    if verdict.outcome == "ok" and not isinstance(capture.json(), list):
        return retry("the answer is not a list of items")
    return verdict


PROVIDER = Provider(
    name="benzinga",
    base_url="https://api.benzinga.com/api/v2",
    rate=(10, 1.0),
    secrets={"token": ("BENZINGANEWS_API_KEY", "BENZINGA_API_KEY")},
    headers={"Accept": "application/json"},
    judge=judge,
)
