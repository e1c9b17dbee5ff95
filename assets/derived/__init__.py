"""Datasets derived from other datasets of the lake: one module per dataset, with the function that derives it.

These modules query no source. `assets.derived.factory` makes the Dagster assets, each downstream of its inputs.
"""
