"""Parses an earlier run of a feed again from its captures with today's code, and compares the result with the lake.

Nothing is fetched or published. A run in replay mode publishes.
"""

from dataclasses import dataclass, field

import pyarrow as pa

from assets.buckets import rows_table
from assets.extraction import Row, RunFacts
from assets.feeds.feed import Feed, Scope
from assets.feeds.lake_history import LakeStatements
from assets.feeds.releases import LakeReleases
from assets.feeds.runs import NEVER_CAPTURED, collect_unit, earlier_captures, outcomes
from assets.splits import LakeSplits
from pitlake import clock
from pitlake.clock import AVAILABLE_AT
from pitlake.errors import AnswerRefused, LakeNotFound, NotCaptured
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.hashing import content_hashes
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator, columns, reading
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import HttpClient

EXAMPLES = 20


@dataclass
class Difference:
    """The comparison of the lake's rows with today's outcomes of an earlier run's captures.

    same: the number of rows with the same content in the lake. changed: records that the lake has only with different
    content. added: records that are missing from the lake. redated: rows with the same content but a different date in
    the lake. gaps: records that are gaps today. examples: one line each, in the form "kind identity column: value in
    the lake -> value today".
    """

    same: int = 0
    changed: int = 0
    added: int = 0
    redated: int = 0
    gaps: int = 0
    examples: list[str] = field(default_factory=list)


def reparse(feed: Feed, run_id: str, lake: Lake, store: CaptureStore) -> Difference:
    """Parse a run again and compare it with the lake. Raises BadInput without its captures, CaptureDamaged."""
    run_facts = store.run(run_id, feed.dataset.name)
    until = clock.instant(run_facts["until"])
    difference = Difference()
    rows = []
    with HttpClient(feed.provider, store, "replay", until=until) as client:
        run = RunFacts.of_lake(
            lake,
            observed_at=until,
            releases=LakeReleases(lake).at(until),
            statements=LakeStatements(lake),
            splits=LakeSplits(lake),
            earlier=earlier_captures(feed.provider, store),
        )

        def fetch(request: Request) -> Capture:
            try:
                return client.fetch(request)
            except NotCaptured as missing:  # It ends its unit, like a failed request.
                raise AnswerRefused("upstream_error", NEVER_CAPTURED, missing.location) from None

        for unit in feed.units(Scope.of_json(run_facts["scope"])):
            captures, refusal = collect_unit(feed, unit, fetch)
            for outcome, _ in outcomes(feed, unit, captures, refusal, run):
                if isinstance(outcome, Row):
                    rows.append(outcome)
                else:
                    difference.gaps += 1
    if rows:
        today = rows_table(feed, rows)
        hashes = content_hashes(today, feed.dataset.content_columns, lake.added_columns(feed.dataset))
        _compare(feed, lake, today.append_column("_hash", hashes), difference)
    return difference


def _compare(feed: Feed, lake: Lake, today: pa.Table, difference: Difference) -> None:
    dataset = feed.dataset
    try:
        snapshot = lake.snapshot()
    except LakeNotFound:
        snapshot = Snapshot(0)
    files = snapshot.files(dataset.name)
    snapshot.fetch(files)
    if not files:
        difference.added = today.num_rows
        return
    same_record = " AND ".join(f't."{name}" IS NOT DISTINCT FROM e."{name}"' for name in dataset.identity)
    numbered = today.append_column("_position", pa.array(range(today.num_rows)))
    question = f"""
        SELECT t._position AS position, bool_or(e.content_hash = t._hash) AS same,
            bool_or(e.content_hash = t._hash AND e.available_at = t.available_at) AS dated
        FROM today t JOIN {reading(files)} e ON {same_record} GROUP BY ALL"""
    stored_rows = reading(files, dataset.arrow_schema)
    stored = f"SELECT {columns((*dataset.content_columns, AVAILABLE_AT), 'e.')} FROM {stored_rows} e"
    with calculator(today=numbered) as connection:
        states = {position: (same, dated) for position, same, dated in connection.sql(question).fetchall()}
        for position, (same, dated) in sorted(states.items()):
            if same:
                difference.same += 1
                difference.redated += not dated
            else:
                difference.changed += 1
                if len(difference.examples) < EXAMPLES:
                    sql = (
                        f"{stored} JOIN today t ON {same_record} WHERE t._position = {position} ORDER BY e.available_at"
                    )
                    before = connection.sql(sql).to_arrow_table().to_pylist()[-1]
                    now = today.slice(position, 1).to_pylist()[0]
                    name = " ".join(str(now[column]) for column in dataset.identity)
                    difference.examples += [
                        f"{name} {column}: {value} -> {now[column]}"
                        for column, value in before.items()
                        if column != AVAILABLE_AT and value != now[column]
                    ]
    difference.added = today.num_rows - len(states)
