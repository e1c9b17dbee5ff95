"""Feeds of files that people drop into folders: one module per dataset.

A module with a `DROP` is found automatically. A file is received once (`receiving`), and its capture dates it. The
captures are read in the same way as answers of outside sources.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from assets.feeds.feed import Feed


@cache
def all_drops() -> dict[str, Feed]:
    """Return every feed of dropped files, by dataset name, in alphabetical order."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    feeds = [module.DROP for module in modules if hasattr(module, "DROP")]
    return {feed.dataset.name: feed for feed in sorted(feeds, key=lambda feed: feed.dataset.name)}
