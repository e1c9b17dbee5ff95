"""Forms 25 filed by exchanges: the removed class of securities, the exchange and the rule. Pure.

An issuer's own Form 25 is prose without a reliable class, so it is not parsed.
"""

import html
import re
from typing import NamedTuple

from resources.http.capture import Capture, Request
from resources.http.providers.sec_edgar import WWW

DOCUMENT = "/primary_doc.xml"
_FOLDER = re.compile(r"/(\d{10})(\d{2})(\d{6})/primary_doc\.xml$", re.ASCII)
_EQUITY = re.compile(
    r"\b(?:common|ordinary|capital stock|american depositary|beneficial interest|limited partner|class [a-z] shares?)",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"\b(?:warrants?|rights?|notes?|bonds?|debentures?|preferred|preference|etns?|certificates?)\b", re.IGNORECASE
)
_PARTS = re.compile(r"\bunits?\b", re.IGNORECASE)
# Words that precede the object of a right, the conversion of a note, or the content of a unit.
_BEHIND = re.compile(
    r"\b(?:to (?:purchase|acquire|receive|subscribe)|exercisable|exchangeable|convertible|representing|consisting"
    r"|entitling)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_CLASSES = re.compile(
    r"[;\n()]|,(?=\s*(?:and\s+)?[A-Z])|\band\s+(?=[A-Z])|\b(?:and|with)\s+(?=(?:the )?(?:associated|related|attached))"
)


class Removal(NamedTuple):
    """The content of a Form 25; None for missing parts."""

    exchange: str | None
    security_class: str | None
    rule_provision: str | None


def request(of_cik: str, accession_no: str) -> Request:
    """Return the request for the document of an exchange's Form 25."""
    return Request(f"/Archives/edgar/data/{int(of_cik)}/{accession_no.replace('-', '')}{DOCUMENT}", host=WWW)


def accession_of(capture: Capture) -> str | None:
    """Return the accession number of a captured document; None for any other capture."""
    match = _FOLDER.search(capture.url)
    return "-".join(match.groups()) if match else None


def parsed(text: str) -> Removal:
    """Parse a document. Missing or repeated parts are None."""
    exchange = _element(text, "exchange", raw=True)
    return Removal(
        exchange=_element(exchange, "entityName") if exchange else None,
        security_class=_element(text, "descriptionClassSecurity"),
        rule_provision=_element(text, "ruleProvision"),
    )


def _element(text: str, name: str, *, raw: bool = False) -> str | None:
    start, end = f"<{name}>", f"</{name}>"
    value, closed, _ = text.partition(start)[2].partition(end)
    if not closed or text.count(start) > 1:
        return None
    return value if raw else " ".join(html.unescape(value).split()) or None


def is_common_equity(security_class: str | None) -> bool | None:
    """Return whether the description of one or several classes names common equity itself and not a claim to it.

    Return None if the description is missing or unclear.
    """
    words = security_class or ""
    class_names = (_BEHIND.sub("", class_name) for class_name in _CLASSES.split(words))
    if any(_EQUITY.search(class_name) and not _OTHER.search(class_name) for class_name in class_names):
        return True
    return False if _OTHER.search(words) or _PARTS.search(words) else None
