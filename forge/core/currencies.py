"""The currencies, besides USD, in which an account can hold positions."""

from pitlake.errors import BadInput, choice

USD = "USD"
SERIES = {
    "EUR": "DEXUSEU", "GBP": "DEXUSUK", "AUD": "DEXUSAL", "NZD": "DEXUSNZ", "JPY": "DEXJPUS", "CAD": "DEXCAUS",
    "CHF": "DEXSZUS", "SEK": "DEXSDUS", "NOK": "DEXNOUS", "DKK": "DEXDNUS", "CNY": "DEXCHUS", "HKD": "DEXHKUS",
    "INR": "DEXINUS", "KRW": "DEXKOUS", "SGD": "DEXSIUS", "TWD": "DEXTAUS", "THB": "DEXTHUS", "MYR": "DEXMAUS",
    "MXN": "DEXMXUS", "BRL": "DEXBZUS", "ZAR": "DEXSFUS",
}  # fmt: skip
"""FRED's series of each currency's rate: USD per unit if its name begins with DEXUS, units per USD otherwise."""


def read_currency(text: str) -> str:
    """Return a typed currency as fills write it, "" for USD. Raises BadInput for a currency without a series."""
    currency = text.strip().upper()
    if currency not in ("", USD, *SERIES):
        raise BadInput("currency", f"{text.strip()[:10]!r} is not supported", choice(currency, (USD, *SERIES)))
    return currency if currency != USD else ""
