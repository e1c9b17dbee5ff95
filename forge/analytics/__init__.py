"""Financial computations: curves, bonds, options, scenarios, sizing. Pure functions without lake or clock.

Amounts keep the caller's units unless a docstring says otherwise. Rates and probabilities are fractions, and times are
in years.
"""
