"""Cuts an answer at T: items dated up to T become rows of the envelope, and items without a date become one gap.

Items after T leave neither a gap nor a count, so the answer does not depend on what happened after T. Items without a
provable publication become one gap, regardless of their number. If no item passes, there is one gap, for any reason: a
later item, a missing item and an error look alike. The rest of an answer is dropped.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pitlake import outside_json
from pitlake.answers.envelope import Envelope, clean_gap, envelope, to_json
from pitlake.clock import NEW_YORK, iso
from pitlake.errors import BadInput, EnvelopeRefused
from pitlake.gate.rules import check_item, strict_json
from pitlake.proxy.paths import NoSuchPlace
from pitlake.proxy.policy import AS_PUBLISHED, BASIS, JSON, STRICTEST, VALUE, ToolPolicy
from pitlake.proxy.times import Undated, is_up_to, names_later_day, published, stray_instants

SOURCE_DATE, OBSERVED = "source_date", "observed"
LONGEST_ANSWER = 16 << 20
"""The most bytes of an answer as JSON. Cutting a million takes 0.3 CPU seconds (articles) to 1 (only times)."""
_DIGIT = re.compile(r"\d")
LATER, UNDATED, PASSED, OPAQUE = "later", "undated", "passed", "opaque"
FAILED, MISSHAPEN, SILENT, TOO_LARGE = "failed", "misshapen", "silent", "too_large"
NO_PROOF = clean_gap("unverifiable", "nothing proves that an item of the answer was public at the cut-off")
NO_DATES = clean_gap(
    "unverifiable", "a part of the answer that can't be dated was left out: a text, an image or a file"
)
INCOMPLETE = clean_gap("upstream_error", "the tool's list was not read to its end")
OVER_LIMIT = clean_gap(
    "upstream_error", f"the tool's answer is larger than {LONGEST_ANSWER >> 20} MiB, the proxy's limit; ask for less"
)
NOT_ON_TAPE = clean_gap("upstream_error", "the replayed tape does not contain this call")


class Unusable(ValueError):
    """An answer without usable items. `outcome` is the reason, for the tape."""

    def __init__(self, outcome: str) -> None:
        super().__init__(outcome)
        self.outcome = outcome


@dataclass(frozen=True)
class CutAnswer:
    """An answer cut at T.

    Attributes:
        rows: The items that pass.
        left_out: The gaps that accompany the rows.
        counts: The number of items by outcome, for the tape.
        following: The value that requests the next page.
        refusal: The gap that replaces a missing answer.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    left_out: tuple[dict[str, str], ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    following: Any = None
    refusal: dict[str, str] | None = None

    def envelope(self, as_of: datetime) -> Envelope:
        """Return the answer as the envelope of T."""
        if self.refusal is not None:
            return {"data": [], "gaps": [self.refusal]}
        gaps = [*self.left_out] if self.rows else [nothing(as_of)]
        return {"data": self.rows, "gaps": gaps}


def nothing(as_of: datetime) -> dict[str, str]:
    """Return the gap for an answer without passing items."""
    reasons = "there is none, it can't be dated, or the tool failed"
    return clean_gap("no_data", f"no item of the answer is proven public as of {iso(as_of)}: {reasons}")


class Sightings:
    """The contents of each item in earlier answers. New content of an item is dated by the answer that first has it.

    Answers must be added in the order in which they were received.
    """

    def __init__(self) -> None:
        self._versions: dict[str, dict[str, tuple[datetime, str]]] = {}

    def date(
        self, key: str, content: str, available_at: datetime | None, observed_at: datetime
    ) -> tuple[datetime, str]:
        """Return the date of this content of an item, and the basis of that date. available_at: None if undated."""
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
        refusal = OVER_LIMIT if problem.outcome == TOO_LARGE else None
        return CutAnswer(counts={problem.outcome: 1}, refusal=refusal)
    if not has_more:
        return cut
    return replace(cut, left_out=(*cut.left_out, NO_DATES), counts={**cut.counts, OPAQUE: 1})


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
    for item, keys in items:
        cutter.add(item, keys)
    following = policy.pages and policy.pages.place and policy.pages.place.first(document)
    left_out = (NO_PROOF,) if cutter.counts[UNDATED] else ()
    try:
        rows = envelope(cutter.rows, [], as_of)["data"]
    except (BadInput, EnvelopeRefused, RecursionError):
        raise Unusable(MISSHAPEN) from None
    return CutAnswer(rows, left_out, dict(cutter.counts), following)


class _Cutter:
    """A collector of the rows of an answer's items. It counts the items by outcome."""

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
        """Add an item and the keys on its path."""
        if not isinstance(item, dict) and keys:
            item = {VALUE: item}
        try:
            self.counts[self._judged({**item, **keys}) if isinstance(item, dict) else UNDATED] += 1
        except RecursionError:
            self.counts[UNDATED] += 1

    def _judged(self, item: dict[str, Any]) -> str:
        available_at, basis = self._dated(item)
        if available_at is None:
            return UNDATED
        return LATER if available_at > self._as_of else self._pass(item, available_at, basis)

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

    def _pass(self, item: dict[str, Any], available_at: datetime, basis: str) -> str:
        policy = self._policy
        members = {member: item[member] for member in policy.fields if member in item}
        row = {
            "available_at": iso(available_at),
            "available_at_source": policy.source,
            BASIS: basis,
            "evidence": f"{self._name}#sha256={_digest(members)}",
            **members,
        }
        if policy.texts != AS_PUBLISHED and self._names_later_day(members):
            return UNDATED
        if check_item(row, self._as_of) is not None:
            return UNDATED
        self.rows.append(row)
        return PASSED

    def _names_later_day(self, members: Mapping[str, Any]) -> bool:
        stack: list[Any] = [members]
        while stack:
            current = stack.pop()
            if isinstance(current, dict):
                ignored = self._policy.ignored
                stack += [part for name, member in current.items() if name not in ignored for part in (name, member)]
            elif isinstance(current, list):
                stack += current
            elif isinstance(current, str) and self._is_later(current):
                return True
        return False

    def _is_later(self, text: str) -> bool:
        policy = self._policy
        if text.isascii() and not _DIGIT.search(text):  # A date in ASCII has a digit.
            return False
        if is_up_to(text, self._as_of, policy.zone, policy.format):
            return False
        return names_later_day(text, self._day, periods=policy.texts == STRICTEST)


def publication(item: Mapping[str, Any], policy: ToolPolicy) -> datetime:
    """Return the publication time of an item: the latest of its stated times, plus the policy's lag.

    Raises Undated if it has no time or an unreadable one.
    """
    times = [spelled for place in policy.published_places if (spelled := place.first(item)) not in (None, "")]
    if not times:
        raise Undated("no publication time")
    instants = [published(spelled, policy.format, policy.zone) for spelled in times]
    latest = max(instants) + policy.delay
    return max((latest, *stray_instants(item, policy.zone, policy.ignored, policy.format)))


def document_of(answer: Mapping[str, Any], form: str) -> Any:
    """Return the part of an MCP answer that a policy's `answer` names. Raises Unusable."""
    return _document(answer, form)[0]


def _document(answer: Mapping[str, Any], form: str) -> tuple[Any, bool]:
    """Return the part of an answer that the policy names, and whether the answer contains anything else."""
    if answer.get("isError"):
        raise Unusable(str(answer.get("outcome", FAILED)))
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
        raise Unusable(OPAQUE if blocks else MISSHAPEN)
    return documents[0] if form == JSON else documents, len(documents) < len(blocks)


def _json(text: Any) -> Any:
    """Parse strict JSON, including JSON that is itself encoded as a JSON string.

    Repeated members are refused, because one of two dates would be lost.
    """
    if not isinstance(text, str):
        raise TypeError("not a text")
    document = outside_json.mended(strict_json(text), text)
    return _json(document) if isinstance(document, str) and document[:1] in ("{", "[") else document


def _digest(members: Any) -> str:
    text = json.dumps(members, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def receipt(payload: Envelope, as_of: datetime) -> dict[str, Any]:
    """Return the receipt of an answer. The same call on the same tape gives the same hash."""
    text = to_json({"data": payload["data"], "gaps": payload["gaps"]})
    return {
        "as_of": iso(as_of),
        "result_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "rows": len(payload["data"]),
    }
