"""Other people's tools as of an instant: the proxy dates the items of their answers, leaves out items after T, and
returns the envelope.

A policy says which arguments of a tool limit the time, where the items of an answer are, and what dates them. `pitlake
proxy` applies it to an MCP server, `cut_off` to a Python function. Everything else is dropped.
"""
