"""Provider `economic`: macroeconomic series in the vintages that were public."""

from forge.providers.base import QueryProvider

PROVIDER = QueryProvider(
    "economic",
    "Macroeconomic series in the vintage that was public: newest values, all vintages of a period, a release day.",
    {
        "latest": "macro_latest",
        "series": "macro_series",
        "vintages": "macro_vintages",
        "release": "macro_release",
        "curve": "macro_curve",
    },
)
