"""The graph's datasets: one module each, with Cypher and the pure functions that turn a record into a row or a gap.

The file name is the dataset's name; there is no registry.
"""

from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from assets.extraction import Extractor


@cache
def all_extractors() -> dict[str, Extractor]:
    """Return every extractor of the graph, by dataset name, in alphabetical order."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    extractors = [module.EXTRACTOR for module in modules if hasattr(module, "EXTRACTOR")]
    queries = tuple(query for extractor in extractors for query in extractor.queries)
    return {
        extractor.dataset.name: replace(extractor, others=queries)
        for extractor in sorted(extractors, key=lambda extractor: extractor.dataset.name)
    }
