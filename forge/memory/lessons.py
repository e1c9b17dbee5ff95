"""Lessons that the PM has approved. Only these reach the prompts of the agent and its reviewer.

An agent may write any lesson (`/memory/pk/`). Because the text appears in every later prompt, the PM first approves
exactly this text. A changed text needs a new approval, and a rejection withdraws an earlier approval.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, cast

from forge.core.errors import NotThere
from forge.memory.chain import Row
from forge.memory.journal import WriteCall, Writing
from forge.memory.memory import Memory
from forge.memory.remembered import Remembered
from forge.records import KINDS, Approval, ProcessKnowledge, content_hash, render
from forge.records.base import read_reason
from pitlake.clock import micros
from pitlake.errors import BadInput

SHORTEST_HASH = 8
MOST_CLAIM, MOST_BODY = 300, 600
"""Characters of a lesson's claim and body that a prompt shows."""


@dataclass(frozen=True)
class Lesson:
    """A current lesson. author: the text's author. decision: the PM's decision on exactly this text, "" for none."""

    record: ProcessKnowledge
    sha256: str
    author: str
    decision: str

    def line(self) -> str:
        """Return the lesson for a prompt, on one line."""
        claim, body = one_line(self.record.claim, MOST_CLAIM), one_line(self.record.body, MOST_BODY)
        head = f"{self.record.id} (weight {self.record.weight:g}, {self.record.stance}, written by {self.author})"
        return f"{head}: {' | '.join(filter(None, (claim, body))) or 'no claim'}"


def one_line(text: str, most: int) -> str:
    """Return a text on one line, of limited length, so that it cannot look like a part of the prompt around it."""
    words = " ".join(text.split())
    return words if len(words) <= most else f"{words[: most - 1]}…"


def lessons(remembered: Remembered) -> list[Lesson]:
    """Return the active lessons with enough weight to be used, heaviest first."""
    decisions = _decisions(remembered, remembered.rows("approvals"))
    active_lessons = []
    for row in remembered.rows("pk"):
        record = cast("ProcessKnowledge", remembered.record(row))
        if record.status == "active" and record.weight >= ProcessKnowledge.LEAST_WEIGHT:
            sha256 = content_hash(record)
            active_lessons.append(Lesson(record, sha256, row.actor, decisions.get((row.path, sha256), "")))
    return sorted(active_lessons, key=lambda lesson: (-lesson.record.weight, lesson.record.id))


def _decisions(remembered: Remembered, approvals: Iterable[Row]) -> dict[tuple[str, str], str]:
    """Return the PM's last decision on every lesson text, by path and hash."""
    records = (cast("Approval", remembered.record(row)) for row in sorted(approvals, key=lambda row: row.seq))
    return {(record.subject, record.sha256): record.decision for record in records}


def approved_lessons(remembered: Remembered) -> list[Lesson]:
    """Return the lessons whose current text the PM approved, heaviest first."""
    return [lesson for lesson in lessons(remembered) if lesson.decision == "approved"]


def waiting_lessons(memory: Memory) -> list[Lesson]:
    remembered = memory.hydrate(memory.read_instant(memory.journal.clock.now()))
    return [lesson for lesson in lessons(remembered) if not lesson.decision]


def decide(memory: Memory, name: str, sha256: str, by: str, reason: str = "") -> None:
    """Approve exactly one text of a lesson, or reject it with a reason.

    Raises:
        BadInput: There is no such lesson, its text has changed, or the PM has already made this decision.
    """
    reason = read_reason(reason) if reason else ""
    remembered = memory.hydrate(memory.read_instant(memory.journal.clock.now()))
    path = KINDS["pk"].path(name)
    if not KINDS["pk"].names(name) or remembered.newest(path) is None:
        raise NotThere(path)
    call = WriteCall(actor="pm", session="pm", call_id=f"decide:{os.urandom(10).hex()}", after=micros(remembered.as_of))

    def work(writing: Writing) -> None:
        row = cast("Row", writing.newest(path))
        current_hash = content_hash(remembered.record(row))
        if len(sha256) < SHORTEST_HASH or not current_hash.startswith(sha256):
            raise BadInput("hash", f"{name} has changed", "read it again: pitlake forge approvals")
        decision: Literal["approved", "rejected"] = "rejected" if reason else "approved"
        if _decisions(remembered, writing.all_of("approvals")).get((path, current_hash)) == decision:
            raise BadInput("id", f"{name} is {decision} already", "see pitlake forge approvals")
        approval = Approval(
            id=writing.next_id("approvals"),
            subject=path,
            sha256=current_hash,
            decision=decision,
            decided_by=by,
            reason=reason,
            updated=remembered.as_of,
        )
        writing.put(KINDS["approvals"].path(approval.id), render(approval))

    memory.journal.write(call, work)
