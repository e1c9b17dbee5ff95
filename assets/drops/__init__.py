"""Feeds of files that people drop into folders: one module per dataset.

A module with the name of a dataset defines its `DROP`. A file is received once (see `receiving`) and dated by its
capture. The captures are read in the same way as answers from outside sources.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from assets.feeds.feed import Feed
from pitlake.datasets import all_datasets


@cache
def all_drops() -> dict[str, Feed]:
    """Return every feed of dropped files, by dataset name, in alphabetical order."""
    names = sorted(module.name for module in iter_modules(__path__) if module.name in all_datasets())
    return {name: import_module(f"{__name__}.{name}").DROP for name in names}
