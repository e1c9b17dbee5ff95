"""Financial computations: curves, bonds, options, scenarios, sizing. Pure functions without lake or clock.

Units are the caller's unless a docstring says otherwise; rates and probabilities are fractions, times are years.
"""
