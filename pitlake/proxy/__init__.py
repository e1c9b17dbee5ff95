"""Other people's tools as of an instant. The proxy dates the items of their answers, drops items after T, and returns
the envelope.

A policy says which arguments of a tool limit the time, where the items of an answer are, and what dates them.
Everything else is dropped. `pitlake proxy` applies it to an MCP server, `cut_off` to a Python function.
"""
