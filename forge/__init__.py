"""Forge: a portfolio manager's agent system on the lake. Replaying a decision gives the same result.

Its memory is a dataset, read as of an instant like the market's. It depends on the lake and on no orchestrator.
"""
