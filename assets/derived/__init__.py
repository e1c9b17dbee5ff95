"""Datasets derived from other datasets of the lake: one module per dataset, with the function that derives it.

Nothing here queries a source. `assets.derived.factory` makes the Dagster assets, each downstream of its inputs.
"""
