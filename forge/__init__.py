"""Forge: a portfolio manager's agent system on the lake, whose decisions can be asked again as of then.

Its memory is a dataset behind the same wall as the market's. Knows the lake, and no orchestrator.
"""
