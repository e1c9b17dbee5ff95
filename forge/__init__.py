"""Forge: a portfolio manager's agent on the lake, whose memory is as of an instant too.

A decision can be asked again as of then, with the memory of then, on the data of then, and comes out the same.
"""
