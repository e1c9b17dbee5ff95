"""The tool `review`: another model judges an output, with its own tools.

If the output is an Expression, given by id or path, the verdict is stored for exactly its current content. The PM's
approval is based on this verdict.
"""

import re
from typing import Literal, cast, get_args

from forge.agent.conversation import Conversation, LoopLimits
from forge.agent.loop import loop, no_progress
from forge.agent.prompt import book_text, dated
from forge.agent.tasks import figures
from forge.agent.tasks.figures import CONTEXT
from forge.agent.tasks.subagent import TaskContext
from forge.agent.tools.base import schema
from forge.agent.tools.text import marked, quoted
from forge.core.errors import ContentRefused
from forge.fs import ForgeFS
from forge.memory import WriteCall, Writing
from forge.memory.book import held_in, remembered_book
from forge.memory.effects import CODE, CONSTRAINTS
from forge.memory.lessons import approved_lessons
from forge.model.messages import ToolSpec
from forge.records import KINDS, Constraints, Expression, Review, content_hash, parse, render
from forge.records.base import UNSTORED
from pitlake.clock import micros
from pitlake.errors import BadInput, PitlakeError

MOST_TURNS = 12
MOST_LESSONS = 5
SHORTEST_WORD = 4
ReviewVerdict = Literal["approve", "approve_with_notes", "revise", "escalate"]
VERDICTS: tuple[ReviewVerdict, ...] = get_args(ReviewVerdict)
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


def parse_review(text: str) -> ReviewVerdict:
    """Parse the verdict of a review. A missing, unknown or repeated verdict counts as `escalate`."""
    words = [match.strip(" \t*.").lower() for match in _VERDICT.findall(text)]
    return next((candidate for candidate in VERDICTS if words == [candidate]), "escalate")


class ReviewTool:
    """The tool `review` of a turn."""

    spec = SPEC

    def __init__(self, context: TaskContext) -> None:
        self._context = context

    async def execute(self, call_id: str, /, output: str, focus: str) -> str:
        """Return the review and its recorded verdict. Raises ModelFailed, Diverged."""
        context, fs = self._context, self._context.files()
        id_match, kind = _NAMED.fullmatch(output.strip()), KINDS["expressions"]
        if id_match and not fs.exists(kind.path(id_match[1])):
            raise BadInput("output", f"there is no Expression {id_match[1]}", "write it first, or give the whole text")
        subject: Expression | None = None
        try:
            record = parse(kind, fs.read_file(kind.path(id_match[1])) if id_match else output)
            stored = parse(kind, fs.read_file(kind.path(record.id)))
        except PitlakeError:
            pass  # The output is not a stored Expression, neither by name nor in full.
        else:
            subject = (
                record if isinstance(record, Expression) and content_hash(stored) == content_hash(record) else None
            )
        text = render(subject) if subject else output
        lane = context.models.lane(f"review {call_id}")
        message = dated(self._message(text, focus, subject, fs), fs.remembered.as_of)
        conversation = Conversation(REVIEW_PROMPT, [message], "review")
        tools = context.tools(fs, ("search", "fetch"))
        limits = LoopLimits(MOST_TURNS, context.limits.repeats)
        model = context.retrying_model("review", lane)
        window = context.models.window(lane, model.id)
        answer, end = await loop(model, lane, conversation, tools, limits, no_progress, window)
        outcome: ReviewVerdict = parse_review(answer) if end == "answered" else "escalate"
        why = "" if end == "answered" else f" ({conversation.stopped})"
        subject_note = f" of {subject.id}, content {content_hash(subject)[:12]}" if subject else ""
        proof = figures.figure_ledger(text, fs, () if subject else figures.CAPITAL)
        if subject:
            reviewer = ", ".join(sorted(conversation.models)) or "none"
            self._keep(call_id, subject, outcome, reviewer, f"{answer}\n\n{proof}")
        rows = context.memory.journal.written_by(context.remembered.session, f"{lane.decision}:{lane.name}:")
        context.remembered.take(rows)
        return f"{answer}\n\n{proof}\n\n[review{subject_note}: {outcome}{why}]"

    def _message(self, text: str, focus: str, subject: Expression | None, fs: ForgeFS) -> str:
        parts = [f"OUTPUT TO REVIEW:\n{marked(text, 'output')}", f"REVIEW FOCUS:\n{quoted(focus)}"]
        if subject:
            view = _read(fs, KINDS["views"].path(subject.view_id)) or "missing"
            parts.append(f"VIEW:\n{marked(view, subject.view_id)}")
            book, row = remembered_book(fs.remembered), fs.remembered.newest(CONSTRAINTS)
            constraints = cast("Constraints", fs.remembered.record(row)) if row else None
            trades = held_in(fs.remembered).values()
            limits = self._context.guardrails.figures(subject, book, constraints, trades)
            parts.append("GUARDRAILS:\n" + "\n".join(map(str, limits)))
        if fetched := [entry.name for entry in fs.list_dir(CONTEXT)] if fs.exists(CONTEXT) else []:
            parts.append(f"FETCHED (read them below {CONTEXT}):\n{' '.join(fetched)}")
        parts.append(f"PORTFOLIO:\n{book_text(fs)}")
        if subject and (marks := _read(fs, f"/memory/calibration/{subject.category}.md")):
            parts.append(f"CALIBRATION:\n{marks}")
        words = {word for word in re.findall(r"\w+", focus.lower()) if len(word) >= SHORTEST_WORD}
        texts = [
            f"{lesson.record.category} {', '.join(lesson.record.skill)}\n{lesson.line()}"
            for lesson in approved_lessons(fs.remembered)
        ]
        if lessons := [text for text in texts if any(word in text.lower() for word in words)][:MOST_LESSONS]:
            parts.append("PROCESS KNOWLEDGE:\n" + "\n---\n".join(lessons))
        return "\n\n".join(parts)

    def _keep(self, call_id: str, subject: Expression, outcome: ReviewVerdict, reviewer: str, body: str) -> None:
        remembered = self._context.remembered
        call = WriteCall(
            actor=CODE, session=remembered.session, call_id=f"{call_id}:verdict", after=micros(remembered.as_of)
        )

        def put(body: str) -> None:
            def work(writing: Writing) -> None:
                review = Review(
                    id=writing.next_id("reviews"),
                    subject=KINDS["expressions"].path(subject.id),
                    sha256=content_hash(subject),
                    verdict=outcome,
                    reviewer=reviewer[:200],
                    updated=remembered.as_of,
                    body=body,
                )
                writing.put(KINDS["reviews"].path(review.id), render(review))

            self._context.memory.journal.write(call, work)

        try:
            put(UNSTORED.sub("", body).strip("\n"))
        except (ContentRefused, ValueError):
            put("The review's text can't be stored.")


def _read(fs: ForgeFS, path: str) -> str:
    return fs.read_file(path) if fs.exists(path) else ""
