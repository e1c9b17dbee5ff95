"""Web pages of the hosts that `assets.external.web` may read. No key. That package interprets the pages."""

from resources.http.provider import Provider, judge_status

HOSTS = (
    "newswire.example",
    "www.bea.gov",
    "www.bls.gov",
    "www.businesswire.com",
    "www.federalreserve.gov",
    "www.globenewswire.com",
    "www.prnewswire.com",
    "www.sec.gov",
)

PROVIDER = Provider(
    name="web",
    base_url="https://www.sec.gov",
    hosts={host: f"https://{host}" for host in HOSTS},
    rate=(1, 1.0),
    contact=("PITLAKE_CONTACT", "SEC_EDGAR_USER_AGENT"),
    headers={"Accept": "text/html"},
    judge=judge_status,
)
