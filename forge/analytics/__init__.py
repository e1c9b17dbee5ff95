"""Financial computations: curves, bonds, options, scenarios, sizing.

The functions are pure and use neither a lake nor a clock.

Amounts keep the caller's units unless a docstring says otherwise. Rates and probabilities are fractions, and times are
in years.
"""
