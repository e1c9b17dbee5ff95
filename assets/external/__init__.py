"""The outside sources: one folder per source, one module per dataset with its feed.

A module in a source's folder has its dataset's name and contains a `FEED`. There is no registry, and a feed can be
imported alone.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from assets.feeds.feed import Feed
from pitlake.errors import BadInput, choice


@cache
def all_feeds() -> dict[str, Feed]:
    """Return every feed, by dataset name, in alphabetical order."""
    return {name: _feed(module) for name, module in sorted(_modules().items())}


def feed(name: str) -> Feed:
    """Return the feed of a dataset. Raises BadInput with the names of all feeds."""
    try:
        return _feed(_modules()[name])
    except KeyError:
        raise BadInput("feed", f"there is no feed {name!r}", choice(name, all_feeds())) from None


@cache
def _modules() -> dict[str, str]:
    sources = [source for source in iter_modules(__path__) if source.ispkg]
    return {
        module.name: f"{__name__}.{source.name}.{module.name}"
        for source in sources
        for module in iter_modules([f"{place}/{source.name}" for place in __path__])
        if not module.name.startswith("_")
    }


def _feed(module: str) -> Feed:
    feed: Feed = import_module(module).FEED
    return feed
