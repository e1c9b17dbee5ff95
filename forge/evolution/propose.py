"""Proposals: patches of skills that are supported by agreeing lessons. This module changes no skill."""

import difflib
from collections import defaultdict
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import NamedTuple, cast

from forge.core.config import Evolution
from forge.core.embedder import VectorCache
from forge.core.skill_loader import SkillLoader
from forge.evolution.revisions import folder_hash
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.effects import CODE
from forge.memory.remembered import Remembered
from forge.records import ProcessKnowledge, Proposal, render
from forge.tracking.settlement import whole_memory
from pitlake.clock import new_york_day

FOLDER, FILE = "/memory/proposals/", "SKILL.md"
WEEKS = 3
UNTESTED = "not tested: no model is configured"


@dataclass(frozen=True)
class Claim:
    """A claim about a skill.

    lessons: ids of supporting lessons. text: the text of the first lesson. proposal: the id of the proposal to rewrite,
    "" for a new proposal.
    """

    skill: str
    text: str
    lessons: tuple[str, ...]
    proposal: str = ""


def claims(
    remembered: Remembered, settings: Evolution | None = None, trusted: Container[str] | None = None
) -> Iterator[Claim]:
    """Yield claims that enough lessons from enough weeks support, in any wording, and that no lesson opposes.

    trusted: ids of the lessons that can support a claim (default: all); any lesson can oppose a claim.
    """
    settings = settings or Evolution()
    by_skill: dict[str, list[_Lesson]] = defaultdict(list)
    for path in remembered.paths("/memory/pk/"):
        rows = remembered.all(path)
        record = cast("ProcessKnowledge", remembered.record(rows[-1]))
        year, week, _ = new_york_day(remembered.written_at(rows[0])).isocalendar()
        if record.status == "active" and record.claim:
            for skill in record.skill:
                by_skill[skill.replace("_", "-")].append(_Lesson(record, (year, week)))
    for skill, lessons in sorted(by_skill.items()):
        for same in _same_claims(lessons, settings.same_claim):
            counted = [lesson for lesson in same if lesson.counts and (trusted is None or lesson.record.id in trusted)]
            opposed = settings.require_no_contradictions and any(lesson.record.stance == "opposes" for lesson in same)
            weeks = {lesson.week for lesson in counted}
            if len(counted) >= settings.min_corroborations and len(weeks) >= WEEKS and not opposed:
                text = " ".join(counted[0].record.claim.split())
                yield Claim(skill, text, tuple(sorted(lesson.record.id for lesson in counted)))


class _Lesson(NamedTuple):
    """A lesson, and the week in which it was first written."""

    record: ProcessKnowledge
    week: tuple[int, int]

    @property
    def counts(self) -> bool:
        """Whether the lesson supports its claim and has enough weight."""
        return self.record.stance == "supports" and self.record.weight >= ProcessKnowledge.LEAST_WEIGHT


def _same_claims(lessons: list[_Lesson], least: float) -> list[list[_Lesson]]:
    """Return lessons grouped by claim. A lesson joins a group if its mean similarity to the group is at least `least`.

    A claim and its opposite are similar; a lesson's stance tells them apart. Without an embedding model, only claims
    with the same wording are grouped.
    """
    texts = [" ".join(lesson.record.claim.casefold().split()) for lesson in lessons]
    if find_spec("wordllama"):
        vectors = VectorCache().embed(texts)
        similarity = (vectors @ vectors.T).tolist()
    else:
        similarity = [[float(text == other) for other in texts] for text in texts]
    groups: list[list[int]] = []
    for place in range(len(lessons)):
        close = [(mean(similarity[place][other] for other in group), group) for group in groups]
        nearest, group = max(close, key=lambda item: item[0], default=(-1.0, []))
        if nearest >= least:
            group.append(place)
        else:
            groups.append([place])
    return [[lessons[place] for place in group] for group in groups]


def proposals(remembered: Remembered) -> list[Proposal]:
    """Return every proposal in its current state."""
    return [cast("Proposal", remembered.record(row)) for row in remembered.rows("proposals")]


def pending(memory: Memory) -> list[Proposal]:
    return [
        proposal
        for proposal in proposals(whole_memory(memory, memory.journal.clock.now()))
        if proposal.status == "pending"
    ]


def lessons_of(memory: Memory, proposal: Proposal) -> list[ProcessKnowledge]:
    remembered = whole_memory(memory, memory.journal.clock.now())
    rows = [remembered.newest(f"/memory/pk/{name}.md") for name in proposal.links]
    return [cast("ProcessKnowledge", remembered.record(row)) for row in rows if row]


def new_claims(
    remembered: Remembered,
    loader: SkillLoader,
    settings: Evolution | None = None,
    *,
    trusted: Container[str] | None = None,
    again: bool = False,
) -> list[Claim]:
    """Return the claims that need a proposal: claims without one, and claims whose skill has changed since.

    A claim keeps its open or applied proposal when more lessons support it. trusted: as in `claims`. again: whether to
    include claims for which no change could be written.
    """
    before, open_claims = proposals(remembered), []
    for claim in claims(remembered, settings, trusted):
        if claim.skill not in loader.index:
            continue
        # A proposal is based on the claim's lessons, or on some of them if it is open or applied.
        candidates = (
            proposal
            for proposal in before
            if proposal.links == claim.lessons
            or (proposal.status in ("pending", "applied") and set(proposal.links) <= set(claim.lessons))
        )
        earlier = next((proposal for proposal in candidates if proposal.skill == claim.skill), None)
        if earlier is None:
            open_claims.append(claim)
        elif (earlier.status == "failed" and again) or (
            earlier.status == "pending" and earlier.base != folder_hash(loader.meta(claim.skill).path)
        ):
            open_claims.append(replace(claim, proposal=earlier.id))
    return open_claims


def patch(proposal: Proposal, skills: Path | None) -> str:
    """Return a proposal's unified diff, or the whole new text if the skill has changed since."""
    meta = SkillLoader(skills).index.get(proposal.skill)
    if meta is None or folder_hash(meta.path) != proposal.base:
        return proposal.body
    file = meta.path / proposal.file
    before = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    after = proposal.body.splitlines()
    names = (f"{proposal.skill}/{proposal.file}",) * 2
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))


def with_lesson(text: str, claim: Claim) -> str:
    """Return a skill's text with a claim and its lessons appended."""
    line = f"- {claim.text} ({', '.join(claim.lessons)})"
    head = "" if "\n## Lessons\n" in text else "\n## Lessons\n\n"
    return f"{text.rstrip()}\n{head}{line}\n"


def record_test(memory: Memory, proposal: Proposal, result: str) -> Proposal:
    remembered = whole_memory(memory, memory.journal.clock.now())
    path, record = f"{FOLDER}{proposal.id}.md", replace(proposal, tested=result)
    ForgeFS(memory, remembered, actor=CODE).write_file(
        path, render(record), call_id=f"{proposal.id}:tested:{result}"[:200]
    )
    return record
