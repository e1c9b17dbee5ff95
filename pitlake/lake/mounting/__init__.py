"""Mounting: a table of one's own becomes a dataset of the lake, by a contract that the lake keeps."""
