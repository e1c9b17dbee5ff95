"""Other people's tools as of an instant: what they answer is dated, cut at T, and passed on as the envelope.

A policy says which of a tool's arguments bound time, where the items of an answer are and what dates them. `pitlake
proxy` applies it to an MCP server, `cut_off` to a Python function. Only what a policy names is passed on.
"""
