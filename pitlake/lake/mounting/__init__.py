"""Mounting: a user's own table becomes a dataset of the lake, by a contract that the lake keeps."""
