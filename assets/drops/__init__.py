"""Files that people drop into folders: one module a dataset with its feed; what they share is next to them.

A module that holds a `DROP` is found, nothing registers it. A file is received once (`receiving`), which captures it
and so dates it; what its captures say is read by the same machinery as answers of outside sources.
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
