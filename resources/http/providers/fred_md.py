"""FRED-MD: the monthly panel of macroeconomic series, one CSV file per vintage. No key."""

from resources.http.capture import Capture
from resources.http.provider import Assessment, Provider, judge_status, retry

HEADER = b"sasdate,"


def judge(capture: Capture) -> Assessment:
    """Judge by the status. A success must start like the panel; an HTML page is retried."""
    verdict = judge_status(capture)
    if verdict.outcome == "ok" and not capture.body.lstrip(b"\xef\xbb\xbf").startswith(HEADER):
        return retry("the answer is not a panel")
    return verdict


PROVIDER = Provider(
    name="fred_md",
    base_url="https://www.stlouisfed.org/-/media/project/frbstl/stlouisfed/research/fred-md/monthly",
    rate=(1, 1.0),
    judge=judge,
    timeout=(10.0, 60.0),
)
