"""The PM's approval of a skill change by its exact hash, after a test or with a reason, and the rollback."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

from forge.core.skill_loader import NAME, SkillLoader
from forge.evolution.in_force import APPLIED
from forge.evolution.propose import FOLDER, proposals
from forge.evolution.revisions import apply, folder_hash, undo
from forge.memory import Memory, Remembered, Row, WriteCall, Writing
from forge.memory.approvals import SESSION
from forge.memory.effects import PM
from forge.records import KINDS, Approval, Proposal, parse, render
from forge.records.base import read_reason
from forge.tracking.settlement import whole_memory
from pitlake.clock import micros
from pitlake.errors import BadInput

PASSED = "passed"


def approve(memory: Memory, name: str, sha256: str, by: str, own: Path, untested: str = "") -> Proposal:
    """Apply a proposal.

    sha256: the hash of the changed skill's folder. own: the PM's folder of skills. untested: the reason to apply it
    without a passed test. Raises BadInput, which gives the missing requirement; nothing is changed in that case.
    """
    remembered, row, proposal = _waiting(memory, name, sha256)
    place = SkillLoader(own).meta(proposal.skill).path
    if folder_hash(place) != proposal.base:
        raise BadInput("id", f"{proposal.skill} has changed since {name} was proposed", "propose it again")
    if not proposal.tested.startswith(PASSED) and not untested.strip():
        raise BadInput("id", f"{name} is {proposal.tested}", "give --untested with a reason to apply it anyway")
    reason = read_reason(f"{proposal.tested}. {untested}", "untested") if untested.strip() else proposal.tested
    approval = Approval(id="new", subject=row.path, sha256=sha256, decision="approved", decided_by=by, reason=reason)
    applied = replace(proposal, status=APPLIED, updated=remembered.as_of)

    def work(writing: Writing) -> None:
        writing.put(row.path, render(applied), based_on=row.seq)
        numbered = replace(approval, id=writing.next_id("approvals"), updated=remembered.as_of)
        writing.put(KINDS["approvals"].path(numbered.id), render(numbered))
        apply(place, own, proposal.file, f"{proposal.body}\n", sha256)

    _write(memory, remembered, work)
    return applied


def reject(memory: Memory, name: str, sha256: str, by: str, reason: str) -> Proposal:
    """Reject exactly one content of a proposal. The same lessons do not lead to it again.

    Raises BadInput if the proposal is not pending or has a different hash, or if no reason is given.
    """
    reason = read_reason(reason)
    remembered, row, proposal = _waiting(memory, name, sha256)
    rejected = replace(proposal, status="rejected", updated=remembered.as_of)
    approval = Approval(id="new", subject=row.path, sha256=sha256, decision="rejected", decided_by=by, reason=reason)

    def work(writing: Writing) -> None:
        writing.put(row.path, render(rejected), based_on=row.seq)
        numbered = replace(approval, id=writing.next_id("approvals"), updated=remembered.as_of)
        writing.put(KINDS["approvals"].path(numbered.id), render(numbered))

    _write(memory, remembered, work)
    return rejected


def _waiting(memory: Memory, name: str, sha256: str) -> tuple[Remembered, Row, Proposal]:
    """Return a pending proposal with its row. Raises BadInput unless it has this hash."""
    remembered = whole_memory(memory, memory.journal.clock.now())
    row = remembered.newest(f"{FOLDER}{name}.md")
    if row is None:
        raise BadInput("id", f"there is no proposal {name[:40]!r}", "see pitlake forge skills proposals")
    proposal = cast("Proposal", remembered.record(row))
    if proposal.status != "pending":
        raise BadInput("id", f"{name} is {proposal.status}, not pending", "see pitlake forge skills proposals")
    if sha256 != proposal.sha256:
        raise BadInput("hash", f"{name} has a different hash", "read it again: pitlake forge skills proposals")
    return remembered, row, proposal


def rollback(memory: Memory, skill: str, by: str, own: Path) -> str:
    """Undo the last change to a skill and withdraw its approval. Return the skill's hash, as `undo` does.

    Raises BadInput if there is nothing to undo.
    """
    remembered = whole_memory(memory, memory.journal.clock.now())
    if not NAME.fullmatch(skill):
        raise BadInput("skill", f"{skill[:60]!r} is not the name of a skill", "give a name such as rv-analysis")
    current_hash = folder_hash(own / skill) if (own / skill).is_dir() else ""
    applied = (
        candidate for candidate in proposals(remembered) if (candidate.skill, candidate.status) == (skill, APPLIED)
    )
    proposal = next((candidate for candidate in applied if candidate.sha256 == current_hash), None)
    if proposal is None:
        return undo(own, skill)
    path, restored_hashes = f"{FOLDER}{proposal.id}.md", []

    def work(writing: Writing) -> None:
        writing.put(path, render(replace(proposal, status="rejected", updated=remembered.as_of)))
        for row in writing.all_of("approvals"):
            approval = cast("Approval", parse(KINDS["approvals"], row.content))
            if (approval.subject, approval.sha256) == (path, current_hash):
                withdrawn = replace(approval, status="withdrawn", decided_by=by, updated=remembered.as_of)
                writing.put(row.path, render(withdrawn))
        restored_hashes.append(undo(own, skill))

    _write(memory, remembered, work)
    return restored_hashes[0]


def _write(memory: Memory, remembered: Remembered, work: Callable[[Writing], None]) -> None:
    call = WriteCall(actor=PM, session=SESSION, call_id=f"skill:{os.urandom(10).hex()}", after=micros(remembered.as_of))
    memory.journal.write(call, work)
    memory.flush()
