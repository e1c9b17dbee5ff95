"""The outside sources: one folder a source, one module a dataset with its feed; what they share lies beside them.

A module that holds a `FEED` is found, nothing registers it.
"""

from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from assets.external.feed import Feed
from pitlake.errors import BadInput


@cache
def all_feeds() -> dict[str, Feed]:
    """Every feed, by dataset name, in alphabetical order."""
    modules = (import_module(found.name) for found in walk_packages(__path__, f"{__name__}."))
    feeds = [module.FEED for module in modules if hasattr(module, "FEED")]
    return {feed.dataset.name: feed for feed in sorted(feeds, key=lambda one: one.dataset.name)}


def feed(name: str) -> Feed:
    """The feed of a dataset. Raises BadInput naming the feeds there are."""
    try:
        return all_feeds()[name]
    except KeyError:
        raise BadInput("feed", f"there is no feed {name!r}", f"choose one of {', '.join(all_feeds())}") from None
