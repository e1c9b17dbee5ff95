"""Polygon, now Massive: reference data in pages, with the key as bearer token.

An answer has its own `status` in addition to the HTTP status. Unknown parameters are silently ignored, so feeds compare
the answer with the request.
"""

from pitlake.errors import Unparsable
from resources.http.capture import Capture
from resources.http.provider import OK, Assessment, Provider, judge_status, refused, retry

FINE = {"OK", "DELAYED"}


def judge(capture: Capture) -> Assessment:
    """Judge by the status, then by the answer's own status and its results."""
    verdict = judge_status(capture)
    if verdict.outcome != "ok":
        return verdict
    try:
        answer = capture.json()
    except Unparsable:
        return retry("the answer is not JSON")
    if not isinstance(answer, dict):
        return refused("upstream_error", "answer has an unknown format")
    status = str(answer.get("status", "OK")).upper()
    if status not in FINE:
        if "exceeded the maximum requests" in str(answer.get("error") or answer.get("message") or "").lower():
            return retry("too many requests at once")
        if status == "NOT_AUTHORIZED":
            return refused("upstream_error", "not included in the plan")
        return refused("no_data" if status == "NOT_FOUND" else "upstream_error", "the source refused the request")
    if not isinstance(answer.get("results") or [], list) or not answer.keys() & {"results", "status"}:
        return refused("upstream_error", "answer has an unknown format")
    more = "cursor" in dict(capture.params) or answer.get("next_url")
    return OK if answer.get("results") or more else retry("no data", "no_data")


PROVIDER = Provider(
    name="polygon",
    base_url="https://api.polygon.io",
    rate=(5, 60.0),
    secrets={"authorization": ("POLYGON_API_KEY", "MASSIVE_API_KEY")},
    place="bearer",
    judge=judge,
)
