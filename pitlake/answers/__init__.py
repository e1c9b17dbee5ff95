"""Answers for callers: envelopes, pages, receipts and exports."""
