"""Perplexity's search and chat. One module a dataset; `_asking` says how questions are put."""
