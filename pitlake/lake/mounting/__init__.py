"""Mounting: a user's own table becomes a dataset of the lake, described by a contract in the lake."""
