"""The gate: the one set of rules, with stable codes, that decides what may be shown as of an instant.

`rules` judges one JSON item or envelope with the standard library alone; `columnar` gives the same verdicts over an
Arrow table. Publishing, the doors and the Claude Code hook all call one of the two. No rule lives anywhere else.
"""
