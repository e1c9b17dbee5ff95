"""Figures made of figures: curves, bonds, options, scenarios, sizes. Pure functions, no lake and no clock.

Units are of the caller's choice where a docstring names none; rates and probabilities are fractions, times are years.
"""
