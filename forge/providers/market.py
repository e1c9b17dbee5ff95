"""Provider `market`: prices of companies, sectors and the index, Treasury yields, and a desk's own quotes."""

from forge.providers.base import QueryProvider

PROVIDER = QueryProvider(
    "market",
    "Daily prices by ticker, Treasury yields by maturity, and the desk's quotes: curve, fx, future, vol, spread.",
    {
        "quotes": "quotes_latest",
        "quote_range": "quotes_range",
        "price": "entity_latest_price",
        "prices": "entity_price_range",
        "yields": "macro_curve",
    },
)
