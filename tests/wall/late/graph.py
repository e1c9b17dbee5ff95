"""The graph as a source: documents of every label, and a reader that answers the extractors' queries during a poll.

Windows compare timestamps as text, as the graph does.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

import neo4j

from assets.extraction import Extractor, RunFacts
from assets.graph import all_extractors
from assets.graph import texts as readers
from tests.wall.late import days, filings, texts
from tests.wall.late.documents import Document
from tests.wall.late.found import Found, Thing, by

RETURNED = re.compile(r"\bAS (\w+)")
LABELS = {label.kind.name: label for label in (*texts.LABELS, *filings.LABELS, *days.LABELS)}
NAMES = {dataset: name for label in LABELS.values() for dataset, name in label.names.items()}
# The columns that name a row in its view, where they are not its thing: another thing's row may supersede it.
SHOWN_BY = {"xbrl_facts": by("cik", "concept")}
EXTRACTORS = {name: extractor for name, extractor in all_extractors().items() if name in NAMES}


class Complete(dict[str, Any]):
    """A record as its locator needs it: fields that preparation would add are None."""

    def __missing__(self, name: str) -> None:
        return None


@dataclass(frozen=True)
class GraphAt:
    """A reader of the graph as it is at a poll, for one extraction. `located` maps each locator to its thing."""

    found: Mapping[str, list[Found]]
    extractor: Extractor
    at: datetime
    located: dict[str, Thing] = field(default_factory=dict)

    def stream(self, cypher: str, params: Mapping[str, Any], *, fetch_size: int) -> Iterator[list[Any]]:
        """Yield the records of one window or sweep in batches."""
        windows, sweeps = self.extractor.windows, self.extractor.sweeps
        names = dict.fromkeys(RETURNED.findall(cypher))  # a missing property is null, as in the graph
        run = RunFacts(observed_at=self.at)

        def records() -> Iterator[neo4j.Record]:
            for item in self._matching(cypher, windows, sweeps, params):
                record = names | item.record
                self.located[self.extractor.locate(Complete(record), run).evidence] = item.thing
                yield neo4j.Record(record)

        matching = records()
        while records := list(islice(matching, fetch_size)):
            yield records

    def _matching(
        self, cypher: str, windows: tuple[str, ...], sweeps: tuple[str, ...], params: Mapping[str, Any]
    ) -> Iterator[Found]:
        for item in self.found.get(self.extractor.dataset.name, ()):
            dated = item.text is not None and readers.leading_day(item.text) is not None
            if cypher in windows and windows.index(cypher) == item.window:
                if not params or (dated and params["lo"] <= item.text < params["hi"]):
                    yield item
            elif cypher in sweeps and sweeps.index(cypher) == item.window and not dated:
                yield item


def looked_at(documents: Iterable[Document], moment: datetime) -> dict[str, list[Found]]:
    """Return the records that each dataset's queries could find at an instant."""
    content: dict[str, list[Found]] = {}
    for document in documents:
        state = document.at(moment) if document.kind.name in LABELS else None
        for item in LABELS[document.kind.name].found(state) if state is not None else ():
            content.setdefault(item.dataset, []).append(item)
    return content
