"""FRED and ALFRED, the archive of its vintages. Refusals are JSON with an `error_message` and HTTP 400."""

from pitlake.errors import Unparsable
from resources.http.capture import Capture
from resources.http.provider import KEY_REFUSED, Assessment, Provider, judge_json, refused

BAD_REQUEST = 400
NO_SERIES = "the series does not exist"


def judge(capture: Capture) -> Assessment:
    """Judge an unknown series as no data, report a refused key, and judge other answers by the status."""
    if capture.status != BAD_REQUEST:
        return judge_json(capture)
    try:
        body = capture.json()
    except Unparsable:
        body = None
    message = str(body.get("error_message", "")).lower() if isinstance(body, dict) else ""
    if "does not exist" in message:
        return refused("no_data", NO_SERIES)
    return refused("upstream_error", KEY_REFUSED if "api_key" in message else "HTTP 400")


PROVIDER = Provider(
    name="alfred",
    base_url="https://api.stlouisfed.org/fred",
    rate=(100, 60.0),
    secrets={"api_key": ("FRED_API_KEY", "ALFRED_API_KEY")},
    names=("series_id",),
    judge=judge,
    timeout=(10.0, 60.0),
)
