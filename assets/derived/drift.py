"""Measures `drift`: compares, field by field, providers' values of today with the values that the lake saw first.

The requests are repeated and their answers captured, but not published. A later run of the feed publishes the answers,
as revisions that are available from their observation.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from math import sqrt
from typing import Any, NamedTuple

import pyarrow as pa

from assets.buckets import rows_table
from assets.external import all_feeds
from assets.extraction import Row, RunFacts
from assets.feeds.feed import Feed, Scope
from assets.feeds.lake_history import LakeStatements
from assets.feeds.releases import LakeReleases
from assets.feeds.runs import collect_unit, outcomes
from assets.runs import RunReport, concluded
from assets.splits import LakeSplits
from pitlake import clock
from pitlake.datasets.drift import DATASET, WHOLE_RECORD
from pitlake.errors import BadInput, LakeNotFound, NotCaptured
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit
from pitlake.lake.publishing.stage import staged_schema
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, quoted, reading
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient, Mode

Z = 1.959963984540054  # standard deviations for a two-sided 95 % interval
# If a record's identity contains the date of its text, new versions of an article are compared by key.
BY_KEY = frozenset({"benzinga_news"})


class FieldDrift(NamedTuple):
    """The drift of one field: `changed` of `compared` values are different today."""

    dataset: str
    field: str
    compared: int
    changed: int


def measure(feed: Feed, scope: Scope, client: HttpClient, lake: Lake) -> list[FieldDrift]:
    """Fetch a scope again and compare it with the values that the lake saw first. Nothing is published.

    It compares records that the same requests returned before. Refused requests only leave out their records. Raises
    the other errors of `HttpClient.fetch`.
    """
    rows: list[Row] = []
    polled: set[str] = set()
    releases, statements, splits = LakeReleases(lake), LakeStatements(lake), LakeSplits(lake)
    for unit in feed.units(scope):
        captures, refusal = collect_unit(feed, unit, client.fetch)
        if refusal is None:
            polled |= {capture.location for capture in captures}
        observed_at = clock.now()
        run = RunFacts.of_lake(
            lake, observed_at=observed_at, releases=releases.at(observed_at), statements=statements, splits=splits
        )
        rows += [outcome for outcome, _ in outcomes(feed, unit, captures, refusal, run) if isinstance(outcome, Row)]
    try:
        snapshot = lake.snapshot()
    except LakeNotFound:
        snapshot = Snapshot(0)
    return compared(feed, rows_table(feed, rows), snapshot, polled)


def compared(feed: Feed, today: pa.Table, snapshot: Snapshot, polled: Collection[str]) -> list[FieldDrift]:
    """Compare today's rows with the first-seen rows of one lake version, field by field, and count missing records.

    polled: for each repeated request, the prefix of its records' evidence. The records that it first returned should
    appear again today.
    """
    files = snapshot.files(feed.dataset.name)
    if not files:
        return []
    snapshot.fetch(files)
    by = feed.dataset.key if feed.dataset.name in BY_KEY else feed.dataset.identity
    fields = [name for name in feed.dataset.content_columns if name not in by]
    same = " AND ".join(f"t.{quoted(name)} IS NOT DISTINCT FROM f.{quoted(name)}" for name in by)
    keys = ", ".join(map(quoted, by))
    counts = [f"count_if(t.{quoted(name)} IS DISTINCT FROM f.{quoted(name)})" for name in fields]
    first = f"""
        WITH f AS (
            SELECT *, split_part(evidence, '#', 1) AS _request FROM {reading(files, feed.dataset.arrow_schema)}
            QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY observed_at, available_at, content_hash) = 1),
        t AS (SELECT * FROM today QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY available_at DESC) = 1)"""
    with calculator(today=today) as connection:
        [counts_row] = connection.sql(
            f"{first} SELECT {', '.join(('count(*)', *counts))} FROM f JOIN t ON {same}"
        ).fetchall()
        [missing] = connection.sql(
            f"""{first} SELECT count(*), count_if(NOT EXISTS (FROM t WHERE {same})) FROM f
            WHERE list_contains($polled, _request)""",
            params={"polled": sorted(polled)},
        ).fetchall()
    drifts = []
    if counts_row[0]:
        drifts = [
            FieldDrift(feed.dataset.name, name, counts_row[0], count)
            for name, count in zip(fields, counts_row[1:], strict=True)
        ]
    if missing[0]:
        drifts.append(FieldDrift(feed.dataset.name, WHOLE_RECORD, *missing))
    return drifts


def wilson(changed: int, compared: int) -> tuple[float, float]:
    """Return the 95 % Wilson score interval of a share. `compared` is at least 1."""
    share, square = changed / compared, Z * Z / compared
    middle = (share + square / 2) / (1 + square)
    half = Z * sqrt(share * (1 - share) / compared + square / (4 * compared)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def derive(
    lake: Lake,
    *,
    run_id: str,
    datasets: Collection[str] = (),
    mode: Mode | str = "replay",
    observed_at: datetime | None = None,
    audits: Sequence[Audit] = (),
) -> RunReport:
    """Measure the last requested scope of these datasets again (default: of all datasets) and publish the counts as one
    commit.

    mode: refresh queries the providers; replay compares the newest captures. A dataset without a request or capture is
    left out. Raises BadInput for a dataset without a feed.
    """
    unknown = sorted(set(datasets) - set(all_feeds()))
    if unknown:
        raise BadInput("datasets", f"{unknown[0]} comes from no provider", f"choose from {', '.join(all_feeds())}")
    store = CaptureStore.of(lake.location)
    measured: list[tuple[Feed, FieldDrift]] = []
    last: dict[str, dict[str, Any]] = {}
    for run, name in store.runs():
        facts = store.run(run, name)
        if name in all_feeds() and (name in datasets or not datasets):
            last[name] = max(last.get(name, facts), facts, key=lambda facts: str(facts["until"]))
    for name, facts in sorted(last.items()):
        feed, scope = all_feeds()[name], Scope.of_json(facts["scope"])
        with HttpClient(feed.provider, store, mode) as client:
            try:
                measured += [(feed, drift) for drift in measure(feed, scope, client, lake)]
            except NotCaptured:
                continue
    store.flush()
    moment = observed_at or lake.now()
    with lake.stage(DATASET, run_id) as stage:

        def fill() -> None:
            rows = []
            for feed, drift in measured:
                low, high = wilson(drift.changed, drift.compared)
                stamps = {
                    "available_at": moment,
                    "available_at_source": DATASET.source_tag,
                    "evidence": f"drift:{drift.dataset}:{drift.field}:{clock.iso(moment)}",
                }
                measures = {"share": drift.changed / drift.compared, "low": low, "high": high}
                source = {"source": feed.provider.name, "measured_at": moment}
                rows.append({**drift._asdict(), **source, **measures, **stamps})
            stage.add(None, pa.Table.from_pylist(rows, staged_schema(DATASET)), extracted=len(rows))

        return concluded(stage, lake, fill, lambda: moment, audits)
