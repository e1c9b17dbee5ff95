"""Perplexity: web search and chat answers. The response to a refused key is an HTML page."""

from resources.http.capture import Capture
from resources.http.provider import KEY_REFUSED, Assessment, Provider, judge_json, refused

BAD_KEY, BAD_QUESTION = 401, frozenset({400, 422})
QUESTION_REFUSED = "the question was refused"


def judge(capture: Capture) -> Assessment:
    """Judge by the status. A success must be JSON."""
    if capture.status == BAD_KEY:
        return refused("upstream_error", KEY_REFUSED)
    if capture.status in BAD_QUESTION:
        return refused("upstream_error", QUESTION_REFUSED)
    return judge_json(capture)


PROVIDER = Provider(
    name="perplexity",
    base_url="https://api.perplexity.ai",
    rate=(50, 60.0),
    secrets={"Authorization": ("PERPLEXITY_API_KEY",)},
    place="bearer",
    judge=judge,
    timeout=(10.0, 120.0),
)
