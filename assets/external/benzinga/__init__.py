"""Benzinga's news over REST. One module a dataset."""
