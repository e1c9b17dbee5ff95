"""The skills in force at an instant: those of now, with every change that was approved since taken back."""

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


class Change(NamedTuple):
    """A skill's folder became another. before, after: its hashes; proposal: what was applied or taken back."""

    at: datetime
    skill: str
    proposal: str
    before: str
    after: str


@dataclass(frozen=True)
class InForce:
    """A skill at an instant. sha256: of its folder; ours: whether it is as it comes along; change: what made it so,
    None where no proposal did.
    """

    name: str
    description: str
    sha256: str
    ours: bool
    change: Change | None


def changes(known: Remembered) -> list[Change]:
    """Every change of a skill that is remembered, oldest first."""
    found = []
    for path in known.paths(FOLDER):
        applied = False
        for row in known.all(path):
            one = cast("Proposal", known.record(row))
            if applied != (one.status == APPLIED):
                hashes = (one.sha256, one.base) if applied else (one.base, one.sha256)
                found.append((row.seq, Change(known.written_at(row), one.skill, one.id, *hashes)))
                applied = not applied
    return [change for _, change in sorted(found)]


def in_force(known: Remembered, at: datetime, own: Path | None) -> list[InForce]:
    """The skills as of an instant. known: all that is remembered now; own: the PM's folder as it is now."""
    told = changes(known)
    return [
        _as_of(at, meta.name, meta.description, meta.path, [one for one in told if one.skill == meta.name])
        for meta in SkillLoader(own).index.values()
    ]


def _as_of(at: datetime, name: str, description: str, place: Path, told: list[Change]) -> InForce:
    later = [one for one in told if one.at > at]
    sha256 = later[0].before if later else folder_hash(place)
    last = next((one for one in reversed(told) if one.at <= at and one.after == sha256), None)
    comes = OURS / name
    return InForce(name, description, sha256, comes.is_dir() and folder_hash(comes) == sha256, last)
