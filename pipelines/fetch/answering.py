"""Answers a question as the agents' envelope: fetched or replayed into the lake first, then asked of an as-of session.

Whatever goes wrong becomes a gap, and then there is no data that was not proven. What leaves passed the gate against
the cut-off.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from assets.external import feed
from assets.extraction import Row, RunFacts
from assets.feeds.feed import Feed, Scope
from assets.feeds.runs import collect_unit, outcomes, run_feed
from pipelines.fetch.asking import FetchQuestion, NotAsked, patience, read
from pipelines.fetch.claims import MARK, claimed_rows, feed_by_claims, note
from pipelines.fetch.offline import from_file
from pipelines.fetch.operations import Operation, operation
from pitlake import clock
from pitlake.answers.envelope import Envelope, clean_gap, envelope, open_envelope
from pitlake.errors import BadInput, CheckFailed, EnvelopeRefused, LakeNotFound, NotCaptured, PitlakeError
from pitlake.lake.lake import Lake
from pitlake.session import connect
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from resources.http.provider import Provider

RETRIES = 2
# Of what could not become a row only this is told under a cut-off: the rest may tell of what came after it.
TOLD_AS_OF = frozenset({"upstream_error", "unverifiable"})
NOTHING = "nothing that matches is public by the cut-off"
NOTHING_OPEN = "nothing matches"
NOT_HERE = "neither the lake nor a capture answers it, and the network is not allowed; pass --live"
BLOCKED = "what would be answered did not pass the gate, so nothing is"
UNEXPECTED = "the question could not be answered, so nothing is"

Gaps = dict[tuple[str, str], dict[str, str]]


@dataclass
class FetchAnswer:
    """An answer on its way: the question's gaps so far, and what is told of it on stderr."""

    pause: Callable[[float], None] | None = None
    gaps: Gaps = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)

    def gap(self, kind: str, reason: str, query: str = "") -> None:
        """Note a gap once. Raises BadInput for an unknown type."""
        self.gaps.setdefault((kind, reason), clean_gap(kind, reason, query or None))

    def gap_each(self, dropped: Iterable[tuple[str, str]], question: FetchQuestion) -> None:
        """Note a gap for each type and reason of what became no item."""
        for kind, reason in dropped:
            self.gap(kind, reason, question.told())


def answer(
    given: Mapping[str, Any],
    words: Iterable[str] = (),
    lake: Lake | None = None,
    pause: Callable[[float], None] | None = None,
) -> tuple[Envelope, dict[str, Any]]:
    """The envelope and the metadata of a question in flags and words. Never raises a PitlakeError; fails closed.

    given: texts by flag name with underscores, `query` a list, `live` a boolean. lake: default as everywhere. pause:
    waits so many seconds between attempts.
    """
    made = FetchAnswer(
        pause=pause, told={"source": given.get("source"), "mode": "open" if given.get("pit") is None else "pit"}
    )
    payload: Envelope = {"data": [], "gaps": []}
    try:
        question = read(given, words)
        made.told |= {"op": question.op, "pit": given.get("pit"), "query": question.told()}
        payload["data"] = _items(question, operation(question), made, lake or Lake())
    except NotAsked as fault:
        made.gap(fault.kind, fault.reason)
    except EnvelopeRefused:
        made.gap("pit_excluded", BLOCKED)
    except BadInput as fault:
        made.gap("bad_input", str(fault))
    except PitlakeError:
        made.gap("upstream_error", UNEXPECTED)
    payload["gaps"] = _known(list(made.gaps.values()))
    made.told |= {"items": len(payload["data"]), "gaps": len(payload["gaps"])}
    return payload, made.told


def _known(gaps: list[dict[str, str]]) -> list[dict[str, str]]:
    """The gaps without what nobody knows: where a source failed or was not asked, it may have something."""
    failed = any(gap["type"] in ("upstream_error", "bad_input") for gap in gaps)
    return [gap for gap in gaps if not (failed and gap["type"] == "no_data")]


def _items(question: FetchQuestion, op: Operation, made: FetchAnswer, lake: Lake) -> list[dict[str, Any]]:
    source, believed = feed(op.dataset), feed_by_claims(question)
    if op.excluded and question.pit is not None and not believed:
        made.gap("pit_excluded", op.excluded)
    if question.known_by is None and not question.input_file:
        _into_lake(question, op, source, made, lake)
    if believed:
        rows, dropped = claimed_rows(question, op, believed, lake)
        made.gap_each(dropped, question)
    elif question.input_file:
        rows = _from_file(question, op, source, made)
    else:
        rows = _rows(question, op, op.dataset, made, lake)
    items = [op.item(row) | (MARK if believed else {}) for row in rows]
    if believed:
        made.told["dated_by_provider_claim"] = len(items)
        note(lake, question.source, len(items))
    if op.synthesis and question.pit is None:
        prose, alone = _of_prose(op), replace(question, limit=1)
        rows = (
            _from_file(alone, prose, feed(op.synthesis), made)
            if question.input_file
            else _rows(alone, prose, op.synthesis, made, lake)
        )
        items += [prose.item(row) for row in rows]
    if not items:
        made.gap("no_data", NOTHING_OPEN if question.pit is None else NOTHING, question.told())
    if question.pit is None:
        return open_envelope(items, [])["data"]
    return envelope(items, [], question.pit)["data"]


def _into_lake(question: FetchQuestion, op: Operation, source: Feed, made: FetchAnswer, lake: Lake) -> None:
    """What captures hold, and what the network says where it may be asked, published before anything is answered."""
    scope = op.scope(question)
    source.units(scope)  # a question that does not do is refused here; a key that is missing costs the network alone
    names = [op.dataset, *([op.synthesis] if op.synthesis and question.pit is None else [])]
    made.told["fetch"] = mode = "live" if question.live else "replay"
    store = CaptureStore.of(lake.location)
    provider, seconds = _patient(source.provider, question), patience(question.source, question.timeout)
    with HttpClient(provider, store, mode, seconds=seconds, pause=made.pause) as client:
        for name in names:
            try:
                report = run_feed(feed(name), scope, client, lake, run_id=f"fetch-{uuid4().hex}")
            except NotCaptured:
                made.told["captured"] = False
                continue
            except BadInput as fault:
                made.gap("upstream_error", str(fault))
                continue
            if isinstance(report.outcome, CheckFailed):
                raise report.outcome
            for kind, reason in report.gaps:
                if question.pit is None or kind in TOLD_AS_OF:
                    made.gap(kind, reason, question.told())
    if op.by_address:
        made.found += _addresses(source, scope, lake)


def _addresses(source: Feed, scope: Scope, lake: Lake) -> list[str]:
    """The pages that the captures of a question name, whatever question found them first."""
    found = []
    with HttpClient(source.provider, CaptureStore.of(lake.location), "replay") as client, suppress(NotCaptured):
        for unit in source.units(scope):
            captures, refusal = collect_unit(source, unit, client.fetch)
            told = outcomes(source, unit, captures, refusal, RunFacts(observed_at=clock.now()))
            found += [str(one.values["url"]) for one, _ in told if isinstance(one, Row)]
    return found


def _patient(provider: Provider, question: FetchQuestion) -> Provider:
    """The provider, asked again twice at most and waited for no longer than all of the question may take."""
    connect_timeout, _ = provider.timeout
    seconds = patience(question.source, question.timeout)
    return replace(provider, attempts=1 + RETRIES, timeout=(min(connect_timeout, seconds), seconds))


def _rows(question: FetchQuestion, op: Operation, dataset: str, made: FetchAnswer, lake: Lake) -> list[dict[str, Any]]:
    """The rows of a session as of the cut-off: what came later is not in it."""
    where, values = op.where(question)
    if op.by_address:
        values["found"] = made.found
    sql = f"""
        SELECT * FROM (
            SELECT *, row_number() OVER (PARTITION BY {op.unlimited} ORDER BY {op.order}, evidence) AS _place
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
        if made.told.get("captured") is False:
            made.gap("no_data", NOT_HERE)
        return []
    with session:
        found = session.sql(sql, values | {"limit": question.limit}).arrow()
        rows: list[dict[str, Any]] = found.drop_columns(["_place"]).to_pylist()
    if not rows and made.told.get("captured") is False:
        made.gap("no_data", NOT_HERE)
    return rows


def _from_file(question: FetchQuestion, op: Operation, source: Feed, made: FetchAnswer) -> list[dict[str, Any]]:
    rows, dropped = from_file(question, op, source)
    made.gap_each(dropped, question)
    return rows


def _of_prose(op: Operation) -> Operation:
    """How the prose of a chat answer is asked for, beside the limit: in open mode alone."""
    return replace(
        op,
        where=lambda asked: ("list_contains($queries, query)", {"queries": list(op.scope(asked).queries)}),
        by_address=False,
        record_type="synthesis",
    )
