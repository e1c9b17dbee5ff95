"""The manifest of the sample world: the expected outcome of each planted quirk, and two of the demo's questions.

`quirks.yaml` plants the quirks and states their outcomes. After `evolve` and a second extraction, `EVOLVED` replaces
`EXPECTATIONS` for the same records.
"""

from dataclasses import dataclass

from sample.companies import REVENUES
from sample.expectations import Expectation, Revision
from sample.fiscal import NET_INCOME
from sample.quirks import evolved, plant_all
from sample.shapes import Graph

__all__ = [
    "DEMO_QUESTION",
    "DEMO_RESTATEMENT",
    "EVOLVED",
    "EXPECTATIONS",
    "NOT_PLANTED",
    "Demonstration",
    "Expectation",
    "Revision",
]

QUIRKS = range(1, 55)

EXPECTATIONS: tuple[Expectation, ...] = plant_all(Graph())

EVOLVED: tuple[Expectation, ...] = evolved().expectations

# Quirks of the source that no extractor can encounter, with the reason.
NOT_PLANTED: dict[int, str] = {
    52: "an alias that one query language reads as infinity; this concerns the query, not the data"
}


@dataclass(frozen=True)
class Demonstration:
    """A question asked as of two instants. sql: returns a row with a number, its period and its source."""

    title: str
    ticker: str
    concept: str
    sql: str
    before: str
    after: str
    answer_before: float
    answer_after: float
    because: str
    told_by: str = "filing"


DEMO_QUESTION = Demonstration(
    title="Brynmoor's latest quarterly revenue on file, USD",
    ticker="QBRY",
    concept=REVENUES,
    sql=f"""
        SELECT value_number, period_end, accession_no FROM xbrl_facts
        WHERE ticker = 'QBRY' AND concept = '{REVENUES}' AND members = ''
          AND date_diff('day', period_start, period_end) < 100
        ORDER BY period_end DESC LIMIT 1
    """,
    before="2024-05-29T16:00:00-04:00",
    after="2024-05-29T17:00:00-04:00",
    answer_before=18_120_000_000.0,
    answer_after=26_044_000_000.0,
    because="the 10-Q accepted at 16:36:33 on 2024-05-29 lies between the two instants",
)

DEMO_RESTATEMENT = Demonstration(
    title="Avelt's net income of the year ended 2024-02-03, USD",
    ticker="QAVN",
    concept=NET_INCOME,
    sql=f"""
        SELECT value_number, period_end, accession_no FROM xbrl_facts
        WHERE ticker = 'QAVN' AND concept = '{NET_INCOME}' AND members = ''
          AND period_start = DATE '2023-01-29' AND period_end = DATE '2024-02-03'
    """,
    before="2025-03-20T16:00:00-04:00",
    after="2025-03-24T09:30:00-04:00",
    answer_before=105_000_000.0,
    answer_after=45_000_000.0,
    because="the 10-K accepted at 16:52:40 on 2025-03-21 restates the year as its comparative",
)
