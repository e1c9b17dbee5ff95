"""The oddities: every quirk of the source that an extractor can encounter, planted on purpose, with its expected
outcome.

Each module plants some quirks in a graph and returns their correct outcomes. Quirks that are omissions, such as a
missing day or a lost filing, are in the generators; the modules here state their outcomes. The world uses the nodes,
and the manifest uses the outcomes.
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
