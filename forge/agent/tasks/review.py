"""review: a fresh look at an output, by a model that did not write it, with tools of its own.

Of an Expression, named by its id or path, the verdict is kept for exactly what it says now: it is what the PM's
approval rests on.
"""

import re
from typing import Literal, get_args

from forge.agent.conversation import Conversation, LoopLimits
from forge.agent.loop import loop, unsaid
from forge.agent.prompt import book_text
from forge.agent.tasks import figures
from forge.agent.tasks.subagent import TaskContext
from forge.agent.tools.base import schema
from forge.core.errors import ContentRefused
from forge.fs import ForgeFS
from forge.memory import WriteCall, Writing
from forge.memory.effects import CODE
from forge.memory.lessons import approved_lessons
from forge.model.messages import ToolSpec
from forge.records import KINDS, Expression, Review, content_hash, parse, render
from forge.records.base import UNSTORED
from pitlake.clock import micros
from pitlake.errors import PitlakeError

MOST_TURNS = 12
MOST_LESSONS = 5
SHORTEST_WORD = 4
Verdict = Literal["approve", "approve_with_notes", "revise", "escalate"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
REVIEW_PROMPT = """\
You are reviewing a proposed output before capital is committed.
Your job is adversarial — find what's wrong, missing, or overconfident.

You have tools: read() and search() for memory, fetch() for external data.
USE THEM. Don't just review what's in front of you — investigate.

Be specific. State what you'd change and why.

VERDICT: approve / approve_with_notes / revise / escalate
If revising: state EXACTLY what needs to change."""
SPEC = ToolSpec(
    "review",
    "Request adversarial review of a proposed output.\n"
    "Use for Expressions (mandatory) and when you want a "
    "fresh perspective to challenge your reasoning.\n"
    "Of an Expression give its id, such as E-001, as the output.\n\n"
    "The reviewer independently accesses memory and data.\n"
    "Returns verdict + reasoning.",
    schema({"output": {"type": "string"}, "focus": {"type": "string"}}, "output", "focus"),
)
_VERDICT = re.compile(r"^[ \t*]*VERDICT[ \t*]*:(.*)$", re.MULTILINE)
_NAMED = re.compile(r"(?:/memory/expressions/)?(E-[0-9]{3,9})(?:\.md)?")


def verdict(text: str) -> Verdict:
    """The verdict of a review; one that is missing, unknown or there twice is `escalate`."""
    told = [one.strip(" \t*.").lower() for one in _VERDICT.findall(text)]
    return next((one for one in VERDICTS if told == [one]), "escalate")


class ReviewTool:
    """review, for a turn."""

    spec = SPEC

    def __init__(self, room: TaskContext) -> None:
        self._room = room

    async def execute(self, call_id: str, /, output: str, focus: str) -> str:
        """What the reviewer says, and the verdict as it is kept. Raises ModelFailed, Diverged."""
        room, fs = self._room, self._room.files()
        subject = _subject(output, fs)
        text = render(subject) if subject else output
        lane = room.models.lane(f"review {call_id}")
        talk = Conversation(REVIEW_PROMPT, [self._message(text, focus, subject, fs)], "review")
        tools = room.tools(fs, ("search", "fetch"))
        limits = LoopLimits(MOST_TURNS, room.limits.repeats)
        answer, end = await loop(room.patient("review", lane), lane, talk, tools, limits, unsaid)
        found: Verdict = verdict(answer) if end == "answered" else "escalate"
        why = "" if end == "answered" else f" ({talk.stopped})"
        kept = f" of {subject.id}, content {content_hash(subject)[:12]}" if subject else ""
        proof = figures.ledger(text, fs, () if subject else figures.CAPITAL)
        if subject:
            reviewer = ", ".join(sorted(talk.models)) or "none"
            self._keep(call_id, subject, found, reviewer, f"{answer}\n\n{proof}")
        written = room.memory.journal.written_by(room.known.session, f"{lane.decision}:{lane.name}:")
        room.known.take(written)
        return f"{answer}\n\n{proof}\n\n[review{kept}: {found}{why}]"

    def _message(self, text: str, focus: str, subject: Expression | None, fs: ForgeFS) -> str:
        parts = [f"OUTPUT TO REVIEW:\n{text}", f"REVIEW FOCUS:\n{focus}"]
        parts.append(f"PORTFOLIO:\n{book_text(fs)}")
        if subject and (marks := _read(fs, f"/memory/calibration/{subject.category}.md")):
            parts.append(f"CALIBRATION:\n{marks}")
        if lessons := self._lessons(focus, fs):
            parts.append("PROCESS KNOWLEDGE:\n" + "\n---\n".join(lessons))
        return "\n\n".join(parts)

    def _lessons(self, focus: str, fs: ForgeFS) -> list[str]:
        words = {word for word in re.findall(r"\w+", focus.lower()) if len(word) >= SHORTEST_WORD}
        texts = [
            f"{lesson.record.category} {', '.join(lesson.record.skill)}\n{lesson.line()}"
            for lesson in approved_lessons(fs.remembered)
        ]
        return [text for text in texts if any(word in text.lower() for word in words)][:MOST_LESSONS]

    def _keep(self, call_id: str, subject: Expression, found: Verdict, reviewer: str, body: str) -> None:
        known = self._room.known
        call = WriteCall(actor=CODE, session=known.session, call_id=f"{call_id}:verdict", after=micros(known.as_of))

        def put(body: str) -> None:
            def work(writing: Writing) -> None:
                made = Review(
                    id=writing.next_id("reviews"),
                    subject=KINDS["expressions"].path(subject.id),
                    sha256=content_hash(subject),
                    verdict=found,
                    reviewer=reviewer[:200],
                    updated=known.as_of,
                    body=body,
                )
                writing.put(KINDS["reviews"].path(made.id), render(made))

            self._room.memory.journal.write(call, work)

        try:
            put(UNSTORED.sub("", body).strip("\n"))
        except (ContentRefused, ValueError):
            put("The reviewer's words can't be stored.")


def _subject(output: str, fs: ForgeFS) -> Expression | None:
    """The Expression an output names, or is the text of, as memory has it."""
    named, kind = _NAMED.fullmatch(output.strip()), KINDS["expressions"]
    try:
        told = parse(kind, fs.read_file(kind.path(named[1])) if named else output)
        held = parse(kind, fs.read_file(kind.path(told.id)))
    except PitlakeError:
        return None
    return told if isinstance(told, Expression) and content_hash(held) == content_hash(told) else None


def _read(fs: ForgeFS, path: str) -> str:
    return fs.read_file(path) if fs.exists(path) else ""
