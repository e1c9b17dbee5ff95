"""What can be asked: named queries, their parameters, searches and tickers."""
