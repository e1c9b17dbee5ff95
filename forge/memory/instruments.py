"""The instruments that an account can hold: tickers, quoted instruments, and futures with recorded contracts."""

import re
from collections.abc import Sequence
from datetime import date

from forge.records import Cash
from pitlake.errors import BadInput

FUTURE = "future:"
_TICKER = re.compile(r"[A-Z][A-Z0-9.\-]{0,14}")
_QUOTED = re.compile(r"[a-z]+(:[\w.\-/]{1,40}){1,2}")
"""The name of a quoted instrument, such as fx:EURUSD."""


def read_ticker(text: str) -> str:
    """Return a typed instrument as positions write it, "" for any other text."""
    ticker = text.strip()
    if not _QUOTED.fullmatch(ticker):
        ticker = ticker.upper()
    return ticker if _QUOTED.fullmatch(ticker) or _TICKER.fullmatch(ticker) else ""


def contract_of(instrument: str, entries: Sequence[Cash], day: date) -> Cash | None:
    """Return the contract of a future on a day, None if the account has none.

    The first contract also applies before its date. A month's contract (future:CL:2024-12) overrides the general one.
    """
    for name in (instrument, _all_months(instrument)):
        if dated := [entry for entry in entries if (entry.entry, entry.ticker) == ("contract", name)]:
            return [entry for entry in dated if entry is dated[0] or entry.booked_on <= day][-1]
    return None


def required_contract(instrument: str, entries: Sequence[Cash], day: date) -> Cash | None:
    """Return the contract of a future on a day, None for any other instrument. Raises BadInput if it is missing."""
    contract = contract_of(instrument, entries, day)
    if contract is None and instrument.startswith(FUTURE):
        step = f'write [account.contracts."{_all_months(instrument)}"] with multiplier and margin to the settings'
        raise BadInput("contract", f"{instrument} is a future, and the account has no contract for it", step)
    return contract


def _all_months(instrument: str) -> str:
    return ":".join(instrument.split(":")[:2])
