"""Shared code of outside feeds: running, dating, naming and replaying them. Independent of sources."""
