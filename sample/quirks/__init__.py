"""The oddities: every quirk of the source that an extractor can meet, planted on purpose, with its expected outcome.

Each module plants some quirks into a graph and returns what a correct extraction makes of them. Quirks that are
omissions (a hole in the calendar, a lost filing) live in the generators; the modules here state their outcome. Called
by the world, which writes the nodes, and by the manifest, which states the outcomes.
"""

from sample.expectations import Expectation
from sample.quirks import bars, calls, dividends, documents, facts, outcomes, qualifiers, stories
from sample.shapes import Graph

_PLANTS = (bars, calls, dividends, documents, facts, outcomes, qualifiers, stories)


def plant_all(graph: Graph) -> tuple[Expectation, ...]:
    """Plant every oddity and return the expected outcomes, in order of quirk."""
    expectations = [expectation for module in _PLANTS for expectation in module.plant(graph)]
    return tuple(
        sorted(expectations, key=lambda expectation: (expectation.quirk, expectation.dataset, expectation.title))
    )
