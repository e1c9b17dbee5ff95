"""Benzinga's news over REST. One module per dataset."""
