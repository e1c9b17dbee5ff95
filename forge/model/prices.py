"""What a model's tokens cost: as the settings say, else by genai-prices, a list that pydantic-ai's makers keep."""

from collections.abc import Mapping
from functools import cache

from forge.core.config import Price

MILLION = 1_000_000


def price(model: str, own: Mapping[str, Price]) -> Price | None:
    """Dollars per million tokens of `provider:id`; None where nobody says. A price by length counts at its dearest."""
    return own.get(model) or _listed(model)


@cache
def _listed(model: str) -> Price | None:
    from genai_prices import Usage, calc_price

    provider, _, name = model.partition(":")
    usage = Usage(input_tokens=MILLION, output_tokens=MILLION)
    try:
        found = calc_price(usage, name, provider_id=provider)
    except LookupError:
        return None
    return Price(input=float(found.input_price), output=float(found.output_price))
