"""Proposals: patches of skills that agreeing lessons suggest and support. Nothing is changed here."""

import difflib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from forge.core.config import Evolution
from forge.core.skill_loader import SkillLoader
from forge.evolution.revisions import folder_hash, patched_hash
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
    """A claim about a skill. lessons: ids of those that support it; text: as in the first one."""

    skill: str
    text: str
    lessons: tuple[str, ...]


def claims(remembered: Remembered, settings: Evolution | None = None) -> Iterator[Claim]:
    """Yield claims supported by enough lessons from enough weeks and opposed by none."""
    settings = settings or Evolution()
    lessons_by_claim: dict[tuple[str, str], list[tuple[ProcessKnowledge, tuple[int, int]]]] = defaultdict(list)
    for path in remembered.paths("/memory/pk/"):
        rows = remembered.all(path)
        lesson = cast("ProcessKnowledge", remembered.record(rows[-1]))
        year, week, _ = new_york_day(remembered.written_at(rows[0])).isocalendar()
        if lesson.status == "active" and lesson.claim:
            for skill in lesson.skill:
                lessons_by_claim[skill.replace("_", "-"), " ".join(lesson.claim.casefold().split())].append(
                    (lesson, (year, week))
                )
    for (skill, _), lessons in sorted(lessons_by_claim.items(), key=lambda item: item[0]):
        for_it = [
            (candidate, week)
            for candidate, week in lessons
            if candidate.stance == "supports" and candidate.weight >= candidate.LEAST_WEIGHT
        ]
        opposed = settings.require_no_contradictions and any(candidate.stance == "opposes" for candidate, _ in lessons)
        if len(for_it) >= settings.min_corroborations and len({week for _, week in for_it}) >= WEEKS and not opposed:
            yield Claim(
                skill, " ".join(for_it[0][0].claim.split()), tuple(sorted(candidate.id for candidate, _ in for_it))
            )


def proposals(remembered: Remembered) -> list[Proposal]:
    """Return every proposal in its current state."""
    return [
        cast("Proposal", remembered.record(row))
        for path in remembered.paths(FOLDER)
        if (row := remembered.newest(path))
    ]


def pending(memory: Memory) -> list[Proposal]:
    """Return the proposals that wait for the PM."""
    return [
        proposal
        for proposal in proposals(whole_memory(memory, memory.journal.clock.now()))
        if proposal.status == "pending"
    ]


def propose(memory: Memory, skills: Path | None, settings: Evolution | None = None) -> list[Proposal]:
    """Write new proposals, each with its evidence. Raises BadInput if a skill would become invalid."""
    remembered = whole_memory(memory, memory.journal.clock.now())
    files, new_proposals = ForgeFS(memory, remembered, actor=CODE), []
    before = proposals(remembered)
    loader = SkillLoader(skills)
    for claim in claims(remembered, settings):
        if claim.skill not in loader.index or any(
            (earlier.skill, earlier.links) == (claim.skill, claim.lessons) for earlier in before
        ):
            continue
        place = loader.meta(claim.skill).path
        text = _with_lesson((place / FILE).read_text(encoding="utf-8"), claim)
        proposal = Proposal(
            id="new",
            skill=claim.skill,
            file=FILE,
            author=CODE,
            base=folder_hash(place),
            sha256=patched_hash(place, FILE, text),
            tested=UNTESTED,
            links=claim.lessons,
            body=text.strip("\n"),
        )
        call = f"{claim.skill}:{','.join(claim.lessons)}"
        write = files.write_file(f"{FOLDER}new.md", render(proposal), call_id=call)
        new_proposals.append(cast("Proposal", remembered.record(write.rows[0])))
    return new_proposals


def patch(proposal: Proposal, skills: Path | None) -> str:
    """Return a proposal's unified diff, or the whole new text if the skill has changed since."""
    meta = SkillLoader(skills).index.get(proposal.skill)
    if meta is None or folder_hash(meta.path) != proposal.base:
        return proposal.body
    before, after = (meta.path / proposal.file).read_text(encoding="utf-8").splitlines(), proposal.body.splitlines()
    names = (f"{proposal.skill}/{proposal.file}",) * 2
    return "\n".join(difflib.unified_diff(before, after, *names, lineterm=""))


def _with_lesson(text: str, claim: Claim) -> str:
    line = f"- {claim.text} ({', '.join(claim.lessons)})"
    head = "" if "\n## Lessons\n" in text else "\n## Lessons\n\n"
    return f"{text.rstrip()}\n{head}{line}\n"


def record_test(memory: Memory, proposal: Proposal, result: str) -> Proposal:
    """Record the result of a proposal's test."""
    remembered = whole_memory(memory, memory.journal.clock.now())
    path, record = f"{FOLDER}{proposal.id}.md", replace(proposal, tested=result)
    ForgeFS(memory, remembered, actor=CODE).write_file(
        path, render(record), call_id=f"{proposal.id}:tested:{result}"[:200]
    )
    return record
