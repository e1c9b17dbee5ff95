"""The gate: one set of rules, with stable codes, that decides what may be shown as of an instant.

`rules` checks one JSON item or envelope with the standard library only; `columnar` gives the same verdicts for an Arrow
table. Publishing, all interfaces and the Claude Code hook use one of the two. No other module contains rules.
"""
