"""Forge: a portfolio manager's agent system on the lake. A decision can be asked again as of then, and is the same.

Its memory is a dataset behind the same wall as the market's. Knows the lake, and no orchestrator.
"""
