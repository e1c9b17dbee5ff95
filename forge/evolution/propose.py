"""Proposals: what lessons that agree would change in a skill, as a patch that cites them. Nothing is changed here."""

import difflib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from forge.core.config import Evolution
from forge.core.skill_loader import SkillLoader
from forge.evolution.revisions import folder_hash, patched
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.effects import CODE
from forge.memory.remembered import Remembered
from forge.records import ProcessKnowledge, Proposal, render
from forge.tracking.settlement import hydrated
from pitlake.clock import new_york_day

FOLDER, FILE = "/memory/proposals/", "SKILL.md"
WEEKS = 3
UNTESTED = "not tested: no model is configured"


@dataclass(frozen=True)
class Claim:
    """A claim about a skill that lessons support. lessons: their ids; text: as the first one has it."""

    skill: str
    text: str
    lessons: tuple[str, ...]


def claims(known: Remembered, settings: Evolution | None = None) -> Iterator[Claim]:
    """Claims that enough lessons of enough weeks support and none opposes."""
    settings = settings or Evolution()
    told: dict[tuple[str, str], list[tuple[ProcessKnowledge, tuple[int, int]]]] = defaultdict(list)
    for path in known.paths("/memory/pk/"):
        rows = known.all(path)
        lesson = cast("ProcessKnowledge", known.record(rows[-1]))
        year, week, _ = new_york_day(known.written_at(rows[0])).isocalendar()
        if lesson.status == "active" and lesson.claim:
            for skill in lesson.skill:
                told[skill.replace("_", "-"), " ".join(lesson.claim.casefold().split())].append((lesson, (year, week)))
    for (skill, _), found in sorted(told.items(), key=lambda one: one[0]):
        for_it = [(one, week) for one, week in found if one.stance == "supports" and one.weight >= one.LEAST_WEIGHT]
        opposed = settings.require_no_contradictions and any(one.stance == "opposes" for one, _ in found)
        if len(for_it) >= settings.min_corroborations and len({week for _, week in for_it}) >= WEEKS and not opposed:
            yield Claim(skill, " ".join(for_it[0][0].claim.split()), tuple(sorted(one.id for one, _ in for_it)))


def proposals(known: Remembered) -> list[Proposal]:
    """Every proposal as it stands."""
    return [cast("Proposal", known.record(row)) for path in known.paths(FOLDER) if (row := known.newest(path))]


def pending(memory: Memory) -> list[Proposal]:
    """What waits for the PM."""
    return [one for one in proposals(hydrated(memory, memory.journal.clock.now())) if one.status == "pending"]


def propose(memory: Memory, skills: Path | None, settings: Evolution | None = None) -> list[Proposal]:
    """Propose what is not proposed yet, each with its evidence. Raises BadInput for a skill that would not be valid."""
    known = hydrated(memory, memory.journal.clock.now())
    files, made = ForgeFS(memory, known, actor=CODE), []
    before = proposals(known)
    loader = SkillLoader(skills)
    for claim in claims(known, settings):
        if claim.skill not in loader.index or any(
            (one.skill, one.links) == (claim.skill, claim.lessons) for one in before
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
            sha256=patched(place, FILE, text),
            tested=UNTESTED,
            links=claim.lessons,
            body=text.strip("\n"),
        )
        call = f"{claim.skill}:{','.join(claim.lessons)}"
        written = files.write_file(f"{FOLDER}new.md", render(proposal), call_id=call)
        made.append(cast("Proposal", known.record(written.rows[0])))
    return made


def patch(proposal: Proposal, skills: Path | None) -> str:
    """What it changes, as a unified diff; the whole new text where the skill is not as it was proposed for."""
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


def judged(memory: Memory, proposal: Proposal, result: str) -> Proposal:
    """Keep what the test of a proposal came to."""
    known = hydrated(memory, memory.journal.clock.now())
    path, record = f"{FOLDER}{proposal.id}.md", replace(proposal, tested=result)
    ForgeFS(memory, known, actor=CODE).write_file(path, render(record), call_id=f"{proposal.id}:tested:{result}"[:200])
    return record
