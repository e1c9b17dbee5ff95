"""SEC EDGAR: filings from submissions, facts from companyfacts, hits of the full-text search, indexes and headers.

All rows are dated by a filing's acceptance (assets.feeds.dating.edgar), never by its filing date.
"""
