"""The PM's door to a skill: one patch, by its exact hash, tested, or untested with a reason that is kept; and back."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from forge.core.skill_loader import SkillLoader
from forge.evolution.in_force import APPLIED
from forge.evolution.propose import FOLDER, proposals
from forge.evolution.revisions import apply, back, folder_hash
from forge.memory import Memory, Remembered, WriteCall, Writing
from forge.memory.approvals import SESSION
from forge.memory.effects import PM
from forge.records import KINDS, Approval, Proposal, parse, render
from forge.tracking.settlement import hydrated
from pitlake.clock import micros
from pitlake.errors import BadInput

PASSED = "passed"


def approve(memory: Memory, name: str, sha256: str, by: str, own: Path, untested: str = "") -> Proposal:
    """Apply a proposal. sha256: of the skill's folder as it will be; own: the PM's folder of skills; untested: why one
    that no test passed is applied all the same.

    Raises BadInput saying what is missing; nothing was changed then.
    """
    known = hydrated(memory, memory.journal.clock.now())
    row = known.newest(f"{FOLDER}{name}.md")
    if row is None:
        raise BadInput("id", f"there is no proposal {name[:40]!r}", "see pitlake forge skills proposals")
    proposal = cast("Proposal", known.record(row))
    place = SkillLoader(own).meta(proposal.skill).path
    if proposal.status != "pending":
        raise BadInput("id", f"{name} is {proposal.status} and waits for nothing", "see pitlake forge skills proposals")
    if sha256 != proposal.sha256:
        raise BadInput("hash", f"{name} has another hash", "look at it again: pitlake forge skills proposals")
    if folder_hash(place) != proposal.base:
        raise BadInput("id", f"{proposal.skill} has changed since {name} was proposed", "propose it again")
    if not proposal.tested.startswith(PASSED) and not untested.strip():
        raise BadInput("id", f"{name} is {proposal.tested}", "give --untested with the reason to apply it all the same")
    reason = " ".join(f"{proposal.tested}. {untested}".split()) if untested.strip() else proposal.tested
    approval = Approval(id="new", subject=row.path, sha256=sha256, decision="approved", decided_by=by, reason=reason)
    applied = replace(proposal, status=APPLIED, updated=known.as_of)

    def work(writing: Writing) -> None:
        writing.put(row.path, render(applied), based_on=row.seq)
        made = replace(approval, id=writing.next_id("approvals"), updated=known.as_of)
        writing.put(KINDS["approvals"].path(made.id), render(made))
        apply(place, own, proposal.file, f"{proposal.body}\n", sha256)

    _write(memory, known, work)
    return applied


def rollback(memory: Memory, skill: str, by: str, own: Path) -> str:
    """Undo the last change of a skill, and withdraw the approval it rests on; the skill's hash, as `back` tells it.

    Raises BadInput where there is nothing to undo.
    """
    known = hydrated(memory, memory.journal.clock.now())
    held = folder_hash(own / skill) if (own / skill).is_dir() else ""
    applied = (one for one in proposals(known) if (one.skill, one.status) == (skill, APPLIED))
    made = next((one for one in applied if one.sha256 == held), None)
    if made is None:
        return back(own, skill)
    path, found = f"{FOLDER}{made.id}.md", []

    def work(writing: Writing) -> None:
        writing.put(path, render(replace(made, status="rejected", updated=known.as_of)))
        for row in writing.all_of("approvals"):
            approval = cast("Approval", parse(KINDS["approvals"], row.content))
            if (approval.subject, approval.sha256) == (path, held):
                withdrawn = replace(approval, status="withdrawn", decided_by=by, updated=known.as_of)
                writing.put(row.path, render(withdrawn))
        found.append(back(own, skill))

    _write(memory, known, work)
    return found[0]


def _write(memory: Memory, known: Remembered, work: Callable[[Writing], None]) -> None:
    call = WriteCall(actor=PM, session=SESSION, call_id=f"skill:{os.urandom(10).hex()}", after=micros(known.as_of))
    memory.journal.write(call, work)
    memory.flush()
