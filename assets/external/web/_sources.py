"""The allow-list of lane 3: which hosts may date their own pages, and the clock they mean when they name none.

A host that is not listed here is never asked and never dated. Add one by a line here and its name in the provider
(resources/http/providers/web.py). Pure.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pitlake.clock import NEW_YORK

# The last place on Earth where a day ends.
WESTMOST = ZoneInfo("Etc/GMT+12")


@dataclass(frozen=True)
class AllowedHost:
    """A host that may date its own pages. zone: its clock where a text names none; the last on Earth if not known."""

    host: str
    zone: ZoneInfo = WESTMOST


ALLOWED = {
    source.host: source
    for source in (
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
    """Return the source of an address: https, a listed host, no port, no login. None for any other address."""
    try:
        parts = urlsplit(url)
        if parts.scheme != "https" or parts.port is not None or parts.username is not None:
            return None
    except ValueError:
        return None
    return ALLOWED.get((parts.hostname or "").lower())
