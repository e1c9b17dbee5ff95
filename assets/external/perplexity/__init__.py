"""Perplexity's search and chat. One module per dataset; `_asking` builds the questions."""
