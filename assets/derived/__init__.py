"""What follows from other datasets of the lake alone: one module a dataset, with the function that derives it.

Nothing here asks a source. `assets.derived.factory` makes the Dagster assets, each downstream of what it reads.
"""
