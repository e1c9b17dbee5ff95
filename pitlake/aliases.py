"""Common names of datasets, which every interface accepts in addition to the lake's own. This module reads no lake."""

ALIASES = {
    "8-k": "reports",
    "10-k": "reports",
    "10-q": "reports",
    "analyst_ratings": "yahoo_upgrades",
    "articles": "news",
    "bars": "prices",
    "calls": "transcripts",
    "consensus": "av_estimates",
    "earnings": "earnings_events",
    "earnings_calls": "transcripts",
    "estimates": "av_estimates",
    "facts": "xbrl_facts",
    "filings": "reports",
    "financials": "financial_statements",
    "fundamentals": "xbrl_facts",
    "headlines": "news",
    "macro": "macro_observations",
    "ohlcv": "prices",
    "press_releases": "exhibits",
    "q&a": "qa_exchanges",
    "qa": "qa_exchanges",
    "quotes": "market_quotes",
    "ratings": "yahoo_upgrades",
    "research": "research_notes",
    "sections": "report_sections",
    "stock_prices": "prices",
    "tickers": "names",
    "xbrl": "xbrl_facts",
}
"""Common names, in lower case with underscores, and their datasets."""


def meant(name: str) -> str:
    """Return the dataset with a common name ("Stock prices", "filings"); return any other name unchanged."""
    return ALIASES.get(name.strip().lower().replace(" ", "_"), name)
