"""Answers a question of `pitlake fetch` with the agents' envelope.

The source is fetched or replayed into the lake, and an as-of session is queried. Every failure becomes a gap. The
answer passes the gate as of the cut-off.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from assets.external import feed
from assets.extraction import Row, RunFacts
from assets.feeds.feed import Feed
from assets.feeds.runs import collect_unit, outcomes, run_feed
from assets.order import in_order
from pipelines.fetch.asking import FetchQuestion, NotAsked, patience, read
from pipelines.fetch.claims import MARK, claimed_rows, feed_by_claims, note
from pipelines.fetch.offline import from_file
from pipelines.fetch.operations import Operation, operation
from pitlake import clock
from pitlake.answers.envelope import clean_gap, envelope, open_envelope
from pitlake.errors import BadInput, CheckFailed, EnvelopeRefused, LakeNotFound, NotCaptured, PitlakeError
from pitlake.lake.lake import Lake
from pitlake.session import connect
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from resources.http.provider import KEY_NOT_ACCEPTED, KEY_REFUSED
from resources.http.secrets import setting

RETRIES = 2
# Gap types that are shown under a cut-off. Other types may reveal later events.
SHOWN_AS_OF = frozenset({"upstream_error", "unverifiable"})
NOTHING = "nothing that matches is public by the cut-off"
NOTHING_OPEN = "nothing matches"
NOT_HERE = "neither the lake nor a capture answers it, and the network is not allowed; pass --live"
BLOCKED = "the answer did not pass the gate and is withheld"
UNEXPECTED = "the question could not be answered"
WRONG_KEY = frozenset({KEY_REFUSED, KEY_NOT_ACCEPTED, "HTTP 401"})

Gaps = dict[tuple[str, str], dict[str, str]]


@dataclass
class FetchAnswer:
    """An answer in progress: whether the limit excluded items, the gaps, the pages, and metadata for stderr."""

    pause: Callable[[float], None] | None = None
    truncated: bool = False
    gaps: Gaps = field(default_factory=dict)
    addresses: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)

    def gap(self, kind: str, reason: str, query: str = "") -> None:
        """Add a gap once. Raises BadInput for an unknown type."""
        self.gaps.setdefault((kind, reason), clean_gap(kind, reason, query or None))

    def gap_each(self, dropped: Iterable[tuple[str, str]], question: FetchQuestion) -> None:
        """Add a gap for each type and reason of records that are not items of the answer."""
        for kind, reason in dropped:
            self.gap(kind, reason, question.summary())


def answer(
    options: Mapping[str, Any],
    words: Iterable[str] = (),
    lake: Lake | None = None,
    pause: Callable[[float], None] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the envelope and the metadata of a question. Never raises a PitlakeError; fails closed.

    The envelope has `truncated` if the limit excluded items.

    Args:
        options: texts by flag name with underscores; `query` is a list, `live` a boolean.
        words: the operation and `name=value` pairs.
        lake: the lake (default: $PITLAKE_LAKE).
        pause: waits for that many seconds between attempts.
    """
    draft = FetchAnswer(
        pause=pause, metadata={"source": options.get("source"), "mode": "open" if options.get("pit") is None else "pit"}
    )
    payload: dict[str, Any] = {"data": [], "gaps": []}
    try:
        question = read(options, words)
        draft.metadata |= {"op": question.op, "pit": options.get("pit"), "query": question.summary()}
        payload["data"] = _items(question, operation(question), draft, lake or Lake())
    except NotAsked as fault:
        draft.gap(fault.kind, fault.reason)
    except EnvelopeRefused:
        draft.gap("pit_excluded", BLOCKED)
    except BadInput as fault:
        draft.gap("bad_input", str(fault))
    except PitlakeError:
        draft.gap("upstream_error", UNEXPECTED)
    gaps = list(draft.gaps.values())
    # A failed source may have data.
    failed = any(gap["type"] in ("upstream_error", "bad_input") for gap in gaps)
    payload["gaps"] = [gap for gap in gaps if not (failed and gap["type"] == "no_data")]
    payload |= {"truncated": True} if draft.truncated else {}
    draft.metadata |= {"items": len(payload["data"]), "gaps": len(payload["gaps"]), "truncated": draft.truncated}
    return payload, draft.metadata


def _items(question: FetchQuestion, op: Operation, draft: FetchAnswer, lake: Lake) -> list[dict[str, Any]]:
    source, believed = feed(op.dataset), feed_by_claims(question)
    if op.excluded and question.pit is not None and not believed:
        draft.gap("pit_excluded", op.excluded)
    elif op.later and question.pit is not None:
        draft.gap("pit_excluded", op.later)
    if question.known_by is None and not question.input_file:
        _into_lake(question, op, source, draft, lake)
    if believed:
        rows, dropped = claimed_rows(question, op, believed, lake)
        draft.gap_each(dropped, question)
    elif question.input_file:
        rows = _from_file(question, op, source, draft, lake)
    else:
        rows, draft.truncated = _rows(question, op, op.dataset, draft, lake)
    if (believed or question.input_file) and len(rows) > question.limit:
        rows, draft.truncated = rows[: question.limit], True
    items = [op.item(row) | (MARK if believed else {}) for row in rows]
    if believed:
        draft.metadata["dated_by_provider_claim"] = len(items)
        note(lake, question.source, len(items))
    if op.synthesis and question.pit is None:
        prose = replace(
            op,
            where=lambda question: ("list_contains($queries, query)", {"queries": list(op.scope(question).queries)}),
            by_address=False,
            record_type="synthesis",
        )
        alone = replace(question, limit=1)
        rows = (
            _from_file(alone, prose, feed(op.synthesis), draft, lake)
            if question.input_file
            else _rows(alone, prose, op.synthesis, draft, lake)[0]
        )
        items += [prose.item(row) for row in rows[:1]]
    if not items:
        draft.gap("no_data", NOTHING_OPEN if question.pit is None else NOTHING, question.summary())
    if question.pit is None:
        return open_envelope(items, [])["data"]
    return envelope(items, [], question.pit)["data"]


def _into_lake(question: FetchQuestion, op: Operation, source: Feed, draft: FetchAnswer, lake: Lake) -> None:
    """Publish the answers of the captures or, with --live, of the source."""
    scope = op.scope(question)
    lake.settle()
    source.units(scope)  # refuses invalid questions early; a missing API key only disables live mode
    names = in_order([op.dataset, *([op.synthesis] if op.synthesis and question.pit is None else [])])
    draft.metadata["fetch"] = mode = "live" if question.live else "replay"
    store = CaptureStore.of(lake.location)
    connect_timeout, _ = source.provider.timeout
    seconds = patience(question.source, question.timeout)
    provider = replace(source.provider, attempts=1 + RETRIES, timeout=(min(connect_timeout, seconds), seconds))
    with HttpClient(provider, store, mode, seconds=seconds, pause=draft.pause) as client:
        for name in names:
            try:
                report = run_feed(feed(name), scope, client, lake, run_id=f"fetch-{uuid4().hex}")
            except NotCaptured:
                draft.metadata["captured"] = False
                continue
            except BadInput as fault:
                missing = any(setting(names) is None for names in provider.secrets.values())
                draft.gap("upstream_error" if missing else "bad_input", str(fault))
                continue
            if isinstance(report.outcome, CheckFailed):
                raise report.outcome
            for kind, reason in report.gaps:
                if reason in WRONG_KEY and provider.secrets:
                    draft.gap("bad_input", reason, question.summary())
                elif question.pit is None or kind in SHOWN_AS_OF:
                    draft.gap(kind, reason, question.summary())
    if op.by_address:
        # The answers to this question, even if another question fetched them.
        addresses = []
        with HttpClient(source.provider, CaptureStore.of(lake.location), "replay") as client, suppress(NotCaptured):
            for unit in source.units(scope):
                captures, refusal = collect_unit(source, unit, client.fetch)
                results = outcomes(source, unit, captures, refusal, RunFacts(observed_at=clock.now()))
                addresses += [str(result.values["url"]) for result, _ in results if isinstance(result, Row)]
        draft.addresses += addresses


def _rows(
    question: FetchQuestion, op: Operation, dataset: str, draft: FetchAnswer, lake: Lake
) -> tuple[list[dict[str, Any]], bool]:
    """Return the matching rows of a session as of the cut-off, and whether the limit excludes rows."""
    where, values = op.where(question)
    if op.by_address:
        values["found"] = draft.addresses
    sql = f"""
        SELECT * FROM (
            SELECT *, row_number() OVER (PARTITION BY {op.unlimited} ORDER BY {op.order}, evidence) AS _place,
                count(*) FILTER (NOT ({op.unlimited})) OVER () > $limit AS _cut
            FROM {dataset} WHERE {where})
        WHERE _place <= $limit OR {op.unlimited} ORDER BY {op.order}, evidence"""
    try:
        session = connect(
            question.pit,
            known_by=question.known_by,
            lake=lake,
            datasets=[dataset],
            open_mode=question.pit is None,
            isolation="in_process",
        )
    except LakeNotFound:
        if draft.metadata.get("captured") is False:
            draft.gap("no_data", NOT_HERE)
        return [], False
    with session:
        table = session.sql(sql, values | {"limit": question.limit}).arrow()
    rows: list[dict[str, Any]] = table.drop_columns(["_place", "_cut"]).to_pylist()
    if not rows and draft.metadata.get("captured") is False:
        draft.gap("no_data", NOT_HERE)
    return rows, any(table["_cut"].to_pylist())


def _from_file(
    question: FetchQuestion, op: Operation, source: Feed, draft: FetchAnswer, lake: Lake
) -> list[dict[str, Any]]:
    rows, dropped = from_file(question, op, source, lake)
    draft.gap_each((gap for gap in dropped if not op.later or gap[0] != "pit_excluded"), question)
    return rows
