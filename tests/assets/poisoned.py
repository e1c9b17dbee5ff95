"""Random graphs that contain a few bad records of various kinds. Each run is compared with the planted records.

`make poisoned` is the campaign; a sample of it is in the suite.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import neo4j

from assets.extraction import Extractor, RunFacts
from assets.graph import all_extractors
from assets.runs import attempt_partitions
from pitlake.errors import CheckFailed
from pitlake.lake.lake import Lake
from tests.assets.records import article, bar, dividend, fact, report, split
from tests.tally import Tally
from tests.toys import OBSERVED, stored

GRAPHS = 40

Record = dict[str, Any]
DAYS = [date(2024, 5, day) for day in (1, 2, 3)]
SECRET = "daily_stock"
# Each has a number, so that two records never share an id with different content.
HIDDEN = [
    '{"daily_stock": %d}',
    '[{"a": {"Session_Macro": %d}}]',
    "[" * 300 + "%d",
    '{"a": "{\\"daily_return\\": %d}"}',
]


def closed(day: date) -> str:
    return f"{day} 16:00:00-0400"


def news(number: int, day: date) -> Record:
    stamp = f"{day}T12:{number % 60:02}:00-04:00"
    return article(id=f"bzNews_{number}", created=stamp, updated=stamp, title=f"title {number}")


def filings(number: int, day: date) -> Record:
    return report(accession_no=f"0000320193-24-{number:06}", created=f"{day}T12:{number % 60:02}:00-04:00")


def facts(number: int, day: date) -> Record:
    names = {"node": f"f{number}", "concept": f"us-gaap:C{number}", "created": f"{day}T12:00:00-04:00"}
    return fact(**names, accession_no=f"0000320193-24-{day.day:06}")


def bars(number: int, day: date) -> Record:
    return bar(date=str(day), close_at=closed(day), stamp=closed(day), entity_id=f"{number:010}", symbol=f"S{number}")


def dividends(number: int, day: date) -> Record:
    names = {"node": f"D{number}", "ticker": f"S{number}", "declaration_date": str(day), "cik": []}
    return dividend(**names, date_nodes=[[str(day), closed(day)]])


def splits(number: int, day: date) -> Record:
    names = {"node": f"X{number}", "ticker": f"S{number}", "execution_date": str(day)}
    return split(**names, date_nodes=[[str(day), closed(day)]])


@dataclass(frozen=True)
class Kind:
    """A dataset whose graph is poisoned: a factory of good records, the property that dates them, its text properties,
    impossible values, and values that change a record's content.
    """

    name: str
    make: Callable[[int, date], Record]
    dated: str
    texts: tuple[str, ...]
    impossible: tuple[Mapping[str, Any], ...]
    other: Mapping[str, Any]


KINDS = (
    Kind("news", news, "latest", ("title", "teaser", "body"), (), {"title": "another"}),
    Kind("reports", filings, "created", ("description",), (), {"description": "another"}),
    Kind(
        "xbrl_facts", facts, "created", ("concept",),
        ({"periods": [["duration", "2024-05-01", "2024-04-01"]]}, {"value": "none of it"}, {"periods": 7}), {},
    ),
    Kind(
        "prices", bars, "date", (),
        ({"close": -5.0}, {"high": 1.0}, {"low": 500.0}, {"volume": -1.0}, {"open": 0.0}), {"close": 170.0},
    ),
    Kind(
        "dividends", dividends, "declaration_date", ("ticker",),
        ({"cash_amount": "-1"}, {"cash_amount": "0.0"}), {"cash_amount": "0.26"},
    ),
    Kind("splits", splits, "execution_date", ("ticker",), ({"split_to": "0"}, {"split_from": "-2"}), {"split_to": "4"}),
)  # fmt: skip


class PoisonedGraph:
    """A graph that answers an extractor's window queries by comparing strings, as a real graph does."""

    def __init__(self, extractor: Extractor, dated: str, records: list[Record], *, obeys: bool = True) -> None:
        self._extractor, self._dated, self._records, self._obeys = extractor, dated, records, obeys

    def stream(self, cypher: str, params: Mapping[str, str], *, fetch_size: int) -> Iterator[list[neo4j.Record]]:
        result = iter(
            [neo4j.Record(record) for record in self._records if self._matches(cypher, params, record[self._dated])]
        )
        if cypher not in (self._extractor.windows[0], *self._extractor.sweeps[:1]):
            return
        while batch := list(islice(result, fetch_size)):
            yield batch

    def _matches(self, cypher: str, params: Mapping[str, str], text: Any) -> bool:
        if cypher in self._extractor.windows:
            return not self._obeys or (isinstance(text, str) and params["lo"] <= text < params["hi"])
        return not isinstance(text, str) or not text[:4].isdigit()


def spoilt(kind: Kind, record: Record, rng: random.Random) -> tuple[str, list[Record]]:
    """Return a random kind of fault, and the records that have it."""
    ways: list[tuple[str, Callable[[], list[Record]]]] = [
        ("unreadable date", lambda: [record | {"created": "soon", "close_at": "soon", "date_nodes": []}]),
        ("odd shape", lambda: [record | dict.fromkeys(("tickers", "filers", "concepts", "date_nodes", "label"), 7)]),
    ]
    if kind.texts:
        ways.append(
            ("forbidden key", lambda: [record | {rng.choice(kind.texts): rng.choice(HIDDEN) % rng.randrange(10**9)}])
        )
    if kind.impossible:
        ways.append(("impossible value", lambda: [record | dict(rng.choice(kind.impossible))]))
    if kind.other:
        ways.append(("two contents", lambda: [record, record | dict(kind.other)]))
    if kind.name == "news":
        ways.append(("poisoned id", lambda: [record | {"id": HIDDEN[0] % 5}]))
    name, make = rng.choice(ways)
    return name, [{key: value for key, value in each.items() if key in record} for each in make()]


def run(lake: Lake, kind: Kind, records: list[Record], **options: Any) -> Any:
    """Run the extractor on a graph of these records, and return the report."""
    extractor = replace(all_extractors()[kind.name], prepared=None)
    graph = PoisonedGraph(extractor, kind.dated, records, **options)
    days = [*DAYS, DAYS[-1] + timedelta(days=1)]  # a dividend is available only from the end of its day
    return attempt_partitions(extractor, days, graph, lake, run_id="r", observed_at=OBSERVED)


def poisoned_graph(seed: int, folder: Path) -> tuple[str, int, Counter[str]]:
    """Run one random graph, and return its dataset, the number of good records and the planted faults.

    Raises AssertionError if a good record is missing, a bad record is visible, or a record is lost.
    """
    rng, planted = random.Random(seed), Counter[str]()
    kind, lake = rng.choice(KINDS), Lake(folder / str(seed))
    good = [kind.make(number, rng.choice(DAYS)) for number in range(rng.randint(1, 40))]
    bad: list[Record] = []
    for number in range(rng.randint(1, 5)):
        name, creation = spoilt(kind, kind.make(1000 + number, rng.choice(DAYS)), rng)
        planted[name] += 1
        bad += creation
    records = rng.sample([*good, *bad], len(good) + len(bad))
    outcome = run(lake, kind, records).outcome
    place = all_extractors()[kind.name]
    assert not isinstance(outcome, CheckFailed), f"seed {seed}: {outcome}"
    due = {place.locate(record, RunFacts(observed_at=OBSERVED)).evidence for record in good}
    display = [row["evidence"] for row in stored(lake, kind.name)]
    assert sorted(display) == sorted(due), f"seed {seed}: {kind.name} {planted} {due.symmetric_difference(display)}"
    gaps = stored(lake, f"gaps/{kind.name}")
    total = outcome.total
    assert total.extracted == total.published + total.unchanged + total.gaps, f"seed {seed}: {total}"
    assert (total.extracted, total.gaps) == (len(records), len(bad)), f"seed {seed}: {total} {planted}"
    assert not [gap for gap in gaps if SECRET in gap["locator"] + gap["reason"] or "[[[" in gap["locator"]], seed
    assert len({gap["locator"] for gap in gaps}) == sum(planted.values()) - max(0, planted["poisoned id"] - 1), seed
    return kind.name, len(good), planted


def systemic_fault(seed: int, folder: Path) -> None:
    """Run one graph with a fault that affects the whole run. Raises AssertionError if anything is published."""
    rng = random.Random(seed)
    kind, lake = rng.choice(KINDS), Lake(folder / f"systemic-{seed}")
    lake.start()
    good = [kind.make(number, rng.choice(DAYS)) for number in range(rng.randint(1, 40))]
    if seed % 2:  # too many refused records
        other = kind if kind.other else KINDS[0]
        good = [other.make(number, rng.choice(DAYS)) for number in range(20)]
        records = [*good, *(record | dict(other.other) for record in good)]
        outcome = run(lake, other, records).outcome
    else:  # a response that ignores the window
        outcome = run(lake, kind, [*good, kind.make(999, DAYS[0] + timedelta(days=200))], obeys=False).outcome
    assert isinstance(outcome, CheckFailed), f"seed {seed}: {kind.name} was published"
    assert lake.head() == 0


def share(seed: int, folder: Path) -> Tally:
    """Run `GRAPHS` random graphs, and two with a fault that affects the whole run."""
    tally = Tally(GRAPHS)
    for number in range(seed * GRAPHS, (seed + 1) * GRAPHS):
        name, good, planted = poisoned_graph(number, folder)
        tally.counts += planted + Counter({f"good records of {name}": good})
    for number in range(seed * 2, seed * 2 + 2):
        systemic_fault(number, folder)
    return tally
