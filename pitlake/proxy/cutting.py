"""Cuts an answer at T: items dated up to T become rows of the envelope, and items without a date become one gap.

Items after T leave neither a gap nor a count, so the answer does not depend on what happened after T. Any number of
items without a provable publication becomes one gap. The rest of an answer is dropped.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from pitlake import outside_json
from pitlake.answers.envelope import Envelope, clean_gap, envelope, to_json
from pitlake.clock import NEW_YORK, iso
from pitlake.errors import BadInput, EnvelopeRefused
from pitlake.gate.rules import check_item, strict_json
from pitlake.proxy.paths import NoSuchPlace
from pitlake.proxy.policy import BASIS, JSON, STRICT, ToolPolicy
from pitlake.proxy.times import Undated, names_later_day, published, stray_instants

SOURCE_DATE, OBSERVED = "source_date", "observed"
LONGEST_ANSWER = 32 << 20
LATER, UNDATED, PASSED, OPAQUE = "later", "undated", "passed", "opaque"
NO_PROOF = clean_gap("unverifiable", "nothing proves that an item of the answer was public at the cut-off")
NO_DATES = clean_gap(
    "unverifiable", "a part of the answer that can't be dated was left out: a text, an image or a file"
)
FAILED = clean_gap("upstream_error", "the tool failed; its message is withheld because it has no date")
MISSHAPEN = clean_gap("upstream_error", "the tool's answer does not have the form that the policy describes")
SILENT = clean_gap("upstream_error", "the tool gave no answer in time, or has ended")
NOT_ON_TAPE = clean_gap("upstream_error", "the replayed tape does not contain this call")


class Unusable(ValueError):
    """An answer without usable items. `gap` replaces it."""

    def __init__(self, gap: dict[str, str]) -> None:
        super().__init__(gap["reason"])
        self.gap = gap


@dataclass(frozen=True)
class CutAnswer:
    """The envelope of an answer, the number of its items by outcome, and the value that requests the next page."""

    payload: Envelope
    counts: Mapping[str, int] = field(default_factory=dict)
    following: Any = None


class Sightings:
    """The contents of each item in earlier answers. If a later answer has new content of an item, that answer dates it.

    Answers must be added in the order in which they were received.
    """

    def __init__(self) -> None:
        self._versions: dict[str, dict[str, tuple[datetime, str]]] = {}

    def date(
        self, key: str, content: str, available_at: datetime | None, observed_at: datetime
    ) -> tuple[datetime, str]:
        """Return when this content of an item was public, and the basis of that date. available_at: None if undated."""
        versions = self._versions.setdefault(key, {})
        if content not in versions:
            is_late = available_at is None or (bool(versions) and observed_at > available_at)
            versions[content] = (
                (observed_at, OBSERVED) if available_at is None or is_late else (available_at, SOURCE_DATE)
            )
        return versions[content]


def cut_answer(
    answer: Mapping[str, Any],
    policy: ToolPolicy,
    as_of: datetime,
    *,
    name: str,
    sightings: Sightings | None = None,
    observed_at: datetime | None = None,
) -> CutAnswer:
    """Cut an MCP tool's raw answer at T.

    Args:
        answer: A CallToolResult as JSON.
        policy: How the tool is cut off. as_of: T. name: The source that rows cite, such as
        `brave-search/brave_news_search`.
        sightings: The contents of earlier answers; requires `observed_at`.
        observed_at: When this answer had arrived.
    """
    try:
        document, has_more = _document(answer, policy.answer)
        cut = cut_document(document, policy, as_of, name=name, sightings=sightings, observed_at=observed_at)
    except Unusable as problem:
        return CutAnswer(_gated([], [problem.gap], as_of), {problem.gap["type"]: 1})
    if not has_more:
        return cut
    gaps = [NO_DATES, *(gap for gap in cut.payload["gaps"] if gap["type"] != "no_data")]
    return CutAnswer(_gated(cut.payload["data"], gaps, as_of), {**cut.counts, OPAQUE: 1}, cut.following)


def cut_document(
    document: Any,
    policy: ToolPolicy,
    as_of: datetime,
    *,
    name: str,
    sightings: Sightings | None = None,
    observed_at: datetime | None = None,
) -> CutAnswer:
    """Cut a JSON answer at T. Arguments as for `cut_answer`. Raises Unusable."""
    try:
        items = list(policy.item_place.items(document))
    except NoSuchPlace:
        raise Unusable(MISSHAPEN) from None
    cutter = _Cutter(policy, as_of, name, sightings, observed_at)
    try:
        for item, keys in items:
            cutter.add(item, keys)
    except RecursionError:
        raise Unusable(MISSHAPEN) from None
    rows, counts = cutter.rows, cutter.counts
    gaps = [NO_PROOF] if counts[UNDATED] else []
    if not rows and not gaps:
        gaps = [clean_gap("no_data", f"nothing that matches is public as of {iso(as_of)}")]
    return CutAnswer(_gated(rows, gaps, as_of), dict(counts), policy.pages and policy.pages.place.first(document))


class _Cutter:
    """Collects the rows of an answer's items, and counts the items by outcome."""

    def __init__(
        self,
        policy: ToolPolicy,
        as_of: datetime,
        name: str,
        sightings: Sightings | None,
        observed_at: datetime | None,
    ) -> None:
        self._policy, self._as_of, self._name = policy, as_of, name
        self._sightings, self._observed_at = sightings, observed_at
        self._day = as_of.astimezone(policy.zone or NEW_YORK).date()
        self.rows: list[dict[str, Any]] = []
        self.counts: Counter[str] = Counter()

    def add(self, item: Any, keys: Mapping[str, str]) -> None:
        """Add an item, with the keys on its path."""
        if not isinstance(item, dict):
            self.counts[UNDATED] += 1
            return
        whole = {**item, **keys}
        available_at, basis = self._dated(whole)
        if available_at is None:
            self.counts[UNDATED] += 1
        elif available_at > self._as_of:
            self.counts[LATER] += 1
        else:
            self._pass(whole, available_at, basis)

    def _dated(self, item: dict[str, Any]) -> tuple[datetime | None, str]:
        policy = self._policy
        try:
            available_at = publication(item, policy)
        except Undated:
            available_at = None
        if self._sightings is None or self._observed_at is None or not policy.key:
            return available_at, SOURCE_DATE
        compared = {member: item.get(member) for member in policy.content or policy.fields}
        key = _digest([self._name, *(item.get(member) for member in policy.key)])
        times = [place.first(item) for place in policy.published_places]
        seen_at, basis = self._sightings.date(key, _digest([compared, times]), available_at, self._observed_at)
        return (None if available_at is None else max(seen_at, available_at)), basis

    def _pass(self, item: dict[str, Any], available_at: datetime, basis: str) -> None:
        policy = self._policy
        members = {member: item[member] for member in policy.fields if member in item}
        row = {
            "available_at": iso(available_at),
            "available_at_source": policy.source,
            BASIS: basis,
            "evidence": f"{self._name}#sha256={_digest(members)}",
            **members,
        }
        names_later = policy.texts == STRICT and _names_later_day(members, policy.ignored, self._day)
        if names_later or check_item(row, self._as_of) is not None:
            self.counts[UNDATED] += 1
            return
        self.counts[PASSED] += 1
        self.rows.append(row)


def publication(item: Mapping[str, Any], policy: ToolPolicy) -> datetime:
    """Return when an item was public: the latest of the times that it states, with the policy's lag.

    Raises Undated if it states no time, or an unreadable one.
    """
    times = [spelled for place in policy.published_places if (spelled := place.first(item)) not in (None, "")]
    if not times:
        raise Undated("no publication time")
    instants = [published(spelled, policy.format, policy.zone) for spelled in times]
    latest = max(instants) + policy.delay
    return max((latest, *stray_instants(item, policy.zone, policy.ignored)))


def document_of(answer: Mapping[str, Any], form: str) -> Any:
    """Return the part of an MCP answer that a policy's `answer` names. Raises Unusable."""
    return _document(answer, form)[0]


def _document(answer: Mapping[str, Any], form: str) -> tuple[Any, bool]:
    """Return the part of an answer that the policy names, and whether the answer contains anything else."""
    if answer.get("isError"):
        raise Unusable(FAILED)
    structured = answer.get("structuredContent")
    blocks = [block for block in answer.get("content") or () if isinstance(block, dict)]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    if form == JSON and structured is not None:
        return structured, len(texts) < len(blocks)
    documents = []
    for text in texts:
        try:
            documents.append(_json(text))
        except (ValueError, TypeError, RecursionError):
            continue
    if (blocks and not documents) or (form == JSON and len(documents) != 1):
        raise Unusable(NO_DATES if blocks else MISSHAPEN)
    return documents[0] if form == JSON else documents, len(documents) < len(blocks)


def _json(text: Any) -> Any:
    """Parse strict JSON. Repeated members are refused, because one of two dates would be lost."""
    if not isinstance(text, str) or len(text) > LONGEST_ANSWER:
        raise ValueError("not a text, or too long")
    return outside_json.mended(strict_json(text), text)


def _names_later_day(members: Mapping[str, Any], ignored: frozenset[str], day: date) -> bool:
    stack: list[Any] = [members]
    while stack:
        current = stack.pop()
        if isinstance(current, dict):
            stack += [part for name, member in current.items() if name not in ignored for part in (name, member)]
        elif isinstance(current, list):
            stack += current
        elif isinstance(current, str) and names_later_day(current, day):
            return True
    return False


def _digest(members: Any) -> str:
    text = json.dumps(members, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _gated(rows: list[dict[str, Any]], gaps: list[dict[str, str]], as_of: datetime) -> Envelope:
    try:
        return envelope(rows, gaps, as_of)
    except (BadInput, EnvelopeRefused, RecursionError):
        return envelope([], [MISSHAPEN], as_of)


def receipt(payload: Envelope, as_of: datetime) -> dict[str, Any]:
    """Return the receipt of an answer. The same call on the same tape gives the same hash."""
    text = to_json({"data": payload["data"], "gaps": payload["gaps"]})
    return {
        "as_of": iso(as_of),
        "result_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "rows": len(payload["data"]),
    }
