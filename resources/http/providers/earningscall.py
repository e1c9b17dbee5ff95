"""earningscall.biz: calls, transcripts, slides. JSON is sent as text/plain. 403 means not included in the plan."""

from resources.http.capture import Capture
from resources.http.provider import Assessment, Provider, judge_json, judge_status, refused, retry

NOT_IN_PLAN, NOT_THERE = 403, 404
PLAN = "the plan does not cover it, or it is not there"
ABSENT = "not there"
SLIDES = "/slides"
PDF = b"%PDF-"


def judge(capture: Capture) -> Assessment:
    """Judge by the status. Slides must be a PDF, and other answers must be JSON."""
    if capture.status == NOT_IN_PLAN:
        return refused("upstream_error", PLAN)
    if capture.status == NOT_THERE:
        return refused("no_data", ABSENT)
    if not capture.url.endswith(SLIDES):
        return judge_json(capture)
    verdict = judge_status(capture)
    if verdict.outcome == "ok" and not capture.body.startswith(PDF):
        return retry("the answer is not a PDF")
    return verdict


PROVIDER = Provider(
    name="earningscall",
    base_url="https://v2.api.earningscall.biz",
    rate=(10, 1.0),
    secrets={"apikey": ("EARNINGSCALL_API_KEY",)},
    names=("exchange", "symbol", "year", "month", "day", "quarter"),
    judge=judge,
    timeout=(10.0, 60.0),
)
