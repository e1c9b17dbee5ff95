"""Shared code of CSV feeds: converts lines to records by the names in the header, and marks contradictory lines.

Pure.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from assets.drops.receiving import dropped
from assets.extraction import Place, Record, RunFacts
from assets.feeds.feed import Feed, Fetch, Scope, Unit
from assets.feeds.items import TWICE, mark_repeats
from pitlake.contract import Dataset
from pitlake.datasets._answers import OTHER_SHAPE
from pitlake.datasets._drops import CONTRADICTED, UNFINISHED
from pitlake.errors import Unparsable
from resources.http.capture import Capture, Request
from resources.http.csv_lines import cells


def units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per file of `queries`."""
    return [Unit(name, scope) for name in scope.queries]


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    yield fetch(Request(unit.name))


def feed(
    dataset: Dataset,
    needed: Iterable[str],
    optional: Mapping[str, str],
    *,
    locate: Callable[[Record, RunFacts], Place],
    values: Callable[[Record], dict[str, Any]],
) -> Feed:
    """Return the feed of a dataset's CSV files. needed, optional: as in `records`."""
    return Feed(
        dataset=dataset,
        provider=dropped(dataset.name),
        example=Scope(),
        units=units,
        collect=collect,
        records=lambda _, captures: records(captures, needed, optional, dataset.key),
        locate=locate,
        values=values,
    )


def records(
    captures: Sequence[Capture], needed: Iterable[str], optional: Mapping[str, str], key: Sequence[str]
) -> Iterator[tuple[Record, Capture]]:
    """Yield one record per line, by the header's names. optional: the default of a missing or blank column.

    Lines with a different length than the header, and lines that contradict an earlier line, are marked. A file without
    a final line break yields a single record. Raises Unparsable for a header with missing or unknown columns.
    """
    for capture in captures:
        if not capture.body.endswith(b"\n"):
            yield {"problem": UNFINISHED.reason, "place": 0}, capture
            continue
        lines = cells(capture)
        header = [name.strip().lower() for name in next(lines, [])]
        if not {*needed} <= {*header} <= {*needed, *optional} or len({*header}) != len(header):
            raise Unparsable(capture.evidence, f"the header must name {', '.join(needed)}")
        came = ((_record(header, line, number, optional), capture) for number, line in enumerate(lines, 1))
        yield from mark_repeats(came, lambda record: _key_of(record, key), lambda record: {**record, "place": None})


def problem(record: Record) -> str:
    """Return the gap reason of a record that is already marked; "" if it is not."""
    return str(record.get("problem") or (CONTRADICTED.reason if TWICE in record else ""))


def file_name(unit: Unit) -> str:
    """Return the original name of a unit's file."""
    return unquote(unit.name)


def _record(header: Sequence[str], line: Sequence[str], number: int, optional: Mapping[str, str]) -> dict[str, Any]:
    if len(line) != len(header):
        return {"problem": OTHER_SHAPE.reason, "place": number, "cells": list(line)}
    fields = {name: cell.strip() for name, cell in zip(header, line, strict=True)}
    return {"place": number, **fields, **{name: fields.get(name) or meant for name, meant in optional.items()}}


def _key_of(record: Record, key: Sequence[str]) -> tuple[str, ...]:
    if "problem" in record:
        return (str(record["place"]),)
    return tuple(record.get(name, "").lower() if name == "kind" else record.get(name, "") for name in key)
