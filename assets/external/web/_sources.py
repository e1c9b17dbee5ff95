"""The allow-list of web pages: the hosts that may date their own pages, with default time zones.

Other hosts are never requested and never dated. To add a host, add a line here and its name in the provider
(resources/http/providers/web.py). Pure.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pitlake.clock import NEW_YORK

# The time zone in which days end last.
WESTMOST = ZoneInfo("Etc/GMT+12")


@dataclass(frozen=True)
class AllowedHost:
    """A host that may date its own pages.

    zone: the time zone of times without one; if unknown, the zone in which days end last.
    """

    host: str
    zone: ZoneInfo = WESTMOST


ALLOWED = {
    source.host: source
    for source in (
        AllowedHost("newswire.example", NEW_YORK),  # for the sample; this host can't be registered
        AllowedHost("www.bea.gov", NEW_YORK),
        AllowedHost("www.bls.gov", NEW_YORK),
        AllowedHost("www.businesswire.com"),
        AllowedHost("www.federalreserve.gov", NEW_YORK),
        AllowedHost("www.globenewswire.com"),
        AllowedHost("www.prnewswire.com"),
        AllowedHost("www.sec.gov", NEW_YORK),
    )
}


def source_of(url: str) -> AllowedHost | None:
    """Return the host of an https address without port and login; None for any other address or host."""
    try:
        parts = urlsplit(url)
        if parts.scheme != "https" or parts.port is not None or parts.username is not None:
            return None
    except ValueError:
        return None
    return ALLOWED.get((parts.hostname or "").lower())
