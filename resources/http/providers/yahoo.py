"""Yahoo Finance: the JSON endpoints behind its own pages, which need a cookie and a matching crumb.

No key. The crumb is fetched before the first request and kept out of captures like any secret.
"""

import requests

from pitlake.errors import Unparsable
from resources.http.capture import Capture, Request
from resources.http.provider import OK, Assessment, Provider, judge_status, refused, retry

ENVELOPES = ("finance", "quoteSummary")
LONGEST_CRUMB = 64
UNKNOWN = {"not found", "no data found"}
OTHER_SHAPE = "answer has an unknown format"


def judge(capture: Capture) -> Assessment:
    """Judge by the status, then by the envelope's `error`, which accompanies `result` with any status."""
    status = judge_status(capture)
    try:
        answer = capture.json()
    except Unparsable:
        return status if status.outcome != "ok" else retry("the answer is not JSON")
    envelope = next((answer[name] for name in ENVELOPES if name in answer), None) if isinstance(answer, dict) else None
    if not isinstance(envelope, dict):
        return status if status.outcome != "ok" else refused("upstream_error", OTHER_SHAPE)
    if envelope.get("error"):
        if status.outcome == "retry":
            return status
        code = str(envelope["error"].get("code", "")).lower() if isinstance(envelope["error"], dict) else ""
        if code in UNKNOWN:
            return refused("no_data", "the source does not know the symbol")
        reason = "the cookie is not accepted" if code == "unauthorized" else "the source refused"
        return refused("upstream_error", reason)
    if status.outcome != "ok":
        return status
    if not isinstance(envelope.get("result"), list):
        return refused("upstream_error", OTHER_SHAPE)
    return OK if envelope["result"] else retry("no data", "no_data")


def handshake(session: requests.Session, provider: Provider) -> dict[str, str]:
    """Set a cookie in the session and return its crumb; {} if Yahoo gives no crumb and will refuse later requests."""
    session.get(provider.url(Request("/", host="cookies")), timeout=provider.timeout, allow_redirects=False)
    answer = session.get(provider.url(Request("/v1/test/getcrumb")), timeout=provider.timeout, allow_redirects=False)
    crumb = answer.text.strip()
    fits = answer.ok and 0 < len(crumb) <= LONGEST_CRUMB and not set(crumb) & set("<{ ")
    return {"crumb": crumb} if fits else {}


PROVIDER = Provider(
    name="yahoo",
    base_url="https://query2.finance.yahoo.com",
    hosts={"cookies": "https://fc.yahoo.com"},
    rate=(1, 2.0),
    headers={"User-Agent": "Mozilla/5.0 (compatible; pitlake)", "Accept": "application/json"},
    judge=judge,
    handshake=handshake,
)
