"""SEC EDGAR: filings from submissions, facts from companyfacts, hits of the full-text search, indexes and headers.

What dates everything here is a filing's acceptance (assets.feeds.dating.edgar), never its filing date.
"""
