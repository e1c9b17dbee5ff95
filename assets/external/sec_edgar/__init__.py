"""SEC EDGAR: filings from submissions, facts from companyfacts, full-text search hits, indexes and headers.

All rows are dated by a filing's acceptance (assets.feeds.dating.edgar), never by its filing date.
"""
