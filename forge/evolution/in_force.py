"""The skills as of an instant: the current ones, with later changes undone."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, cast

from forge.core.skill_loader import OURS, SkillLoader
from forge.evolution.propose import FOLDER
from forge.evolution.revisions import folder_hash
from forge.memory import Remembered
from forge.records import Proposal

APPLIED: Final = "applied"


class SkillChange(NamedTuple):
    """A change to a skill. before, after: hashes of its folder. proposal: the proposal applied or rolled back."""

    at: datetime
    skill: str
    proposal: str
    before: str
    after: str


@dataclass(frozen=True)
class InForce:
    """A skill as of an instant.

    sha256: the hash of its folder. ours: whether the skill is the same as the built-in one. change: the change that
    created this version; None if no proposal did.
    """

    name: str
    description: str
    sha256: str
    ours: bool
    change: SkillChange | None


def changes(remembered: Remembered) -> list[SkillChange]:
    """Return every change to a skill, oldest first."""
    dated_changes = []
    for path in remembered.paths(FOLDER):
        applied = False
        for row in remembered.all(path):
            proposal = cast("Proposal", remembered.record(row))
            if applied != (proposal.status == APPLIED):
                hashes = (proposal.sha256, proposal.base) if applied else (proposal.base, proposal.sha256)
                dated_changes.append(
                    (row.seq, SkillChange(remembered.written_at(row), proposal.skill, proposal.id, *hashes))
                )
                applied = not applied
    return [change for _, change in sorted(dated_changes)]


def in_force(remembered: Remembered, at: datetime, own: Path | None) -> list[InForce]:
    """Return the skills as of an instant. remembered: the current memory. own: the PM's current folder."""
    all_changes, skills = changes(remembered), list[InForce]()
    for meta in SkillLoader(own).index.values():
        own_changes = [change for change in all_changes if change.skill == meta.name]
        later = [change for change in own_changes if change.at > at]
        sha256 = later[0].before if later else folder_hash(meta.path)
        last = next((change for change in reversed(own_changes) if change.at <= at and change.after == sha256), None)
        comes = OURS / meta.name
        is_ours = comes.is_dir() and folder_hash(comes) == sha256
        skills.append(InForce(meta.name, meta.description, sha256, is_ours, last))
    return skills
