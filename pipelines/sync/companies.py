"""Resolves tickers to companies: EDGAR's list of today's tickers, and CIKs for companies without one."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from assets.external.sec_edgar import _names
from pitlake.errors import AnswerRefused, BadInput, SourceError, Unparsable, Unreadable
from resources.http.capture import Request
from resources.http.client import HttpClient
from resources.http.providers.sec_edgar import WWW

TICKERS = Request("/files/company_tickers.json", host=WWW)
_SEPARATORS = re.compile(r"[./ ]")


def spelled(ticker: str) -> str:
    """Return a ticker in EDGAR's format: upper case, with a share class after a hyphen."""
    return _SEPARATORS.sub("-", ticker.strip().upper())


def registrants(client: HttpClient) -> dict[str, str]:
    """Return the CIK of each of today's tickers. Raises SourceError if EDGAR does not return its list of tickers."""
    try:
        capture = client.fetch(TICKERS)
    except AnswerRefused as refusal:
        raise SourceError(f"EDGAR's list of tickers can't be read: {refusal}; try again or check the network") from None
    try:
        return {spelled(entry["ticker"]): _names.cik(entry["cik_str"]) for entry in capture.json().values()}
    except (AttributeError, KeyError, TypeError, Unreadable):
        raise Unparsable(capture.evidence, "it is not EDGAR's list of tickers") from None


def of_tickers(tickers: Iterable[str], registrants: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the tickers of each company, by CIK. Raises BadInput with every ticker that EDGAR lacks."""
    spellings = list(dict.fromkeys(map(spelled, tickers)))
    if unknown := [ticker for ticker in spellings if ticker not in registrants]:
        near = [name for ticker in unknown for name in get_close_matches(ticker, registrants, n=1, cutoff=0.7)]
        did_you_mean = f"did you mean {', '.join(near)}? " if near else ""
        raise BadInput(
            "--tickers",
            f"EDGAR lists no company under {', '.join(unknown)}",
            f"{did_you_mean}A company that is no longer listed is watched by its CIK: --ciks 1318605",
        )
    resolved: dict[str, tuple[str, ...]] = {}
    for ticker in spellings:
        resolved[registrants[ticker]] = (*resolved.get(registrants[ticker], ()), ticker)
    return resolved


def of_ciks(ciks: Iterable[str], registrants: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Return companies by CIK with today's tickers, if any. Raises BadInput for an invalid CIK."""
    try:
        numbers = dict.fromkeys(map(_names.cik, ciks))
    except Unreadable:
        raise BadInput("--ciks", "one of them is not a CIK", "give CIKs as digits, such as 320193") from None
    return {cik: tuple(ticker for ticker, owner in registrants.items() if owner == cik) for cik in numbers}
