"""Other people's tools as of an instant: dates the items of their answers, cuts them at T, and returns the envelope.

A policy says which arguments of a tool limit the time, where the items of an answer are, and what dates them. `pitlake
proxy` applies it to an MCP server, `cut_off` to a Python function. Everything that the policy does not name is dropped.
"""
