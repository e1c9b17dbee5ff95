"""Implements `pitlake fetch`: answers a question to an outside source with the agents' envelope, first from lake and
captures, then from the source.

`asking` parses the question, `operations` lists the operations of each source, and `answering` makes the
answer.
"""
