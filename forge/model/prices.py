"""Prices of tokens: from the settings, otherwise from genai-prices, a list maintained by the makers of pydantic-ai."""

from collections.abc import Mapping
from functools import cache

from forge.core.config import Price

MILLION = 1_000_000


def price(model: str, own: Mapping[str, Price]) -> Price | None:
    """Return the price of `provider:id` in dollars per million tokens (the highest tier), None if unknown."""
    return own.get(model) or _listed(model)


@cache
def _listed(model: str) -> Price | None:
    from genai_prices import Usage, calc_price

    provider, _, name = model.partition(":")
    usage = Usage(input_tokens=MILLION, output_tokens=MILLION)
    try:
        cost = calc_price(usage, name, provider_id=provider)
    except LookupError:
        return None
    return Price(input=float(cost.input_price), output=float(cost.output_price))
