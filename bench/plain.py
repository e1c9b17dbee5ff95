"""The plain script that `bench.platform` compares Dagster with: the same functions in a loop, and nothing else.

`python -m bench.plain days LAKE FIRST LAST` publishes every dataset of the graph by day, one commit per dataset;
`python -m bench.plain releases LAKE TICKER,…` builds the datasets of those companies' earnings releases.
"""

import sys
from datetime import date

from assets.derived import earnings_bundles, earnings_outcomes
from assets.graph import all_extractors
from checks.expectations import expected
from pitlake.lake.lake import Lake
from resources.graph.open import open_graph
from tests.partitions import run_partitions


def days(lake: Lake, first: date, last: date) -> None:
    """Publish every dataset by day, from the graph that the environment names."""
    days_of_span = [date.fromordinal(day) for day in range(first.toordinal(), last.toordinal() + 1)]
    with open_graph() as graph:
        for extractor in all_extractors().values():
            if extractor.dataset.partitioned:
                run_partitions(extractor, days_of_span, graph, lake, run_id="plain", audits=(expected,))


def releases(lake: Lake, tickers: set[str]) -> None:
    """Publish snapshots and outcomes of every release of these companies. Raises a refusal if there is one."""
    selected = [event for event in earnings_bundles.events(lake) if event.ticker in tickers]
    for build in (earnings_bundles.build, earnings_outcomes.build):
        outcome = build(lake, selected, run_id="plain", audits=(expected,)).outcome
        if isinstance(outcome, Exception):
            raise outcome


def main(what: str, root: str, *of: str) -> None:
    """Run one of the two commands."""
    if what == "days":
        days(Lake(root), *map(date.fromisoformat, of))
    else:
        releases(Lake(root), set(of[0].split(",")))


if __name__ == "__main__":
    main(*sys.argv[1:])
