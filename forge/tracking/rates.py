"""Rates of currencies in USD as of an instant, from a trading desk's quotes or from FRED's series in the lake."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

from forge.core.currencies import SERIES, USD
from forge.memory.instruments import required_contract
from forge.memory.journal import digest
from forge.providers.base import At, ask
from forge.records import Cash
from forge.tracking.bars import LEAD, quotes_since
from forge.tracking.quotes import SPOT, Quoted, quoted_bars
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.questions import catalogue


@dataclass(frozen=True)
class Rates:
    """USD per unit of a currency, by day. answer: SHA-256 of the lake's answer."""

    by_day: Mapping[date, float]
    answer: str

    def on(self, day: date) -> float:
        """Return the last rate up to a day."""
        return self.by_day[max(rated_on for rated_on in self.by_day if rated_on <= day)]


def rates_of(currency: str, day: date, at: At) -> Rates:
    """Return the rates of a currency as of an instant, starting two weeks before a day.

    The first source with a rate up to that day is used: quotes of fx:EURUSD, quotes of fx:USDEUR, FRED's series. Raises
    BadInput if there is no rate.
    """
    for rates in _candidates(currency, day, at):
        if min(rates.by_day, default=date.max) <= day:
            return rates
    step = f"load FRED's series {SERIES[currency]}, or quotes of fx:{currency}{USD}, for the two weeks before"
    raise BadInput("currency", f"the lake has no rate for {currency} on {day} as of this instant", step)


class Unit(NamedTuple):
    """A share or contract. usd: USD per point of its price. margin: initial margin in USD."""

    usd: float
    multiplier: float | None
    margin: float


def unit_of(instrument: str, currency: str, entries: Sequence[Cash], day: date, at: At) -> Unit:
    """Return the unit of an instrument that is priced in a currency, at the last rate up to a day.

    Raises BadInput if a future has no contract, if its contract and quotes are in different currencies, or if there is
    no rate.
    """
    contract = required_contract(instrument, entries, day)
    if contract and contract.currency != currency:
        problem = f"the contract of {instrument} is in {contract.currency or USD}, its quotes in {currency or USD}"
        raise BadInput("contract", problem, "change its currency in [account.contracts] of the settings")
    rate = rates_of(currency, day, at).on(day) if currency else 1.0
    multiplier = contract.multiplier if contract else None
    return Unit((multiplier or 1.0) * rate, multiplier, contract.amount * rate if contract else 0.0)


def _candidates(currency: str, day: date, at: At) -> Iterator[Rates]:
    series, start = SERIES[currency], day - LEAD
    for pair, quoted_in in ((f"{currency}{USD}", USD), (f"{USD}{currency}", currency)):
        quoted = Quoted("fx", pair, SPOT)
        answer = quotes_since(start, quoted, at)
        closes = {rated_on: bar.close for rated_on, bar in quoted_bars(quoted, answer["rows"], quoted_in).items()}
        yield _rates(closes, answer, inverted=quoted_in != USD)
    days = (new_york_day(at.as_of) - start).days + 1
    answer = ask(catalogue.get("macro_series"), {"series": series, "limit": days}, at)
    values = {date.fromisoformat(str(row["observation_date"])[:10]): row["value"] for row in answer["rows"]}
    yield _rates(values, answer, inverted=not series.startswith("DEXUS"))


def _rates(values: Mapping[date, float], answer: Mapping[str, Any], *, inverted: bool) -> Rates:
    by_day = {rated_on: 1 / value if inverted else value for rated_on, value in values.items() if value > 0}
    return Rates(by_day, digest(answer["receipts"][0].result_sha256))
