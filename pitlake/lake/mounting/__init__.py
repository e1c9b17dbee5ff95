"""Mounting: a user's own table becomes a dataset of the lake. A contract in the lake describes it."""
