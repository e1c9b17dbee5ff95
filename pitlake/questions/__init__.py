"""Questions: named queries, their parameters, searches and tickers."""
