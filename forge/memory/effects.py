"""Writes and their effects.

A text is parsed and checked. Then the record and its effects are written in one transaction.

Closing an Expression creates an Outcome, rejecting it creates a Counterfactual, and invalidating a View sends the
View's Expressions to review. Each effect stores the transition that caused it, so that it happens only once.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from forge.core.errors import ApprovalNeeded, GuardrailsBroken, NotThere, PathRefused, PositionHeld, RecordUnreadable
from forge.memory.book import held_in, remembered_book
from forge.memory.chain import Row
from forge.memory.guardrails import Guardrails
from forge.memory.journal import Journal, WriteCall, Writing, digest
from forge.memory.plausible import implausible, is_new_trade, wrong_terms
from forge.memory.remembered import Remembered
from forge.records import (
    KINDS,
    Approval,
    Constraints,
    Counterfactual,
    Expression,
    Kind,
    Outcome,
    Record,
    Settles,
    View,
    content_hash,
    kind_of_path,
    parse,
    read_draft,
    render,
)
from forge.records.base import RecordFault
from forge.records.kinds import NEW
from pitlake import clock

AGENT, PM, CODE = "agent", "pm", "code"
FINAL = frozenset({"closed", "rejected", "invalidated", "expired", "retired", "completed", "applied"})
AGENT_STATUSES = frozenset({"draft", "proposed", "review_required", "active"})
"""The statuses that an agent may write. The error for `active` has a separate next step."""
RESULTS = ("pnl", "exit_reason", "exit_details", "rejection_reason", "version", "answer")
TRACKED = ("entry_price", "total_return", "exit_reason", "problem", "version", "answer", "marks")
SAME_TRADE = ("view_id", "instrument", "direction", "notional")
Followed = Callable[[str | Settles | Expression], tuple[str, str] | None]
"""Returns why code can't follow an instrument or judge a View's question, and what to give instead, or None."""
SECOND = re.compile(r"^# new[ \t]*$", re.MULTILINE)
REVIEWED = frozenset({"proposed", "active"})
CONSTRAINTS = KINDS["constraints"].path("constraints")


class Writer:
    """A writer for one turn.

    actor: the author of the writes; an agent may not write the book, calibration or approvals. followed: checks an
    Expression's instrument and a View's question.
    """

    def __init__(
        self,
        journal: Journal,
        remembered: Remembered,
        guardrails: Guardrails,
        actor: str,
        followed: Followed | None = None,
    ) -> None:
        self._journal, self._remembered, self._guardrails, self._actor = journal, remembered, guardrails, actor
        self._followed = followed

    def write(self, path: str, content: str, call_id: str) -> tuple[tuple[Row, ...], list[str]]:
        """Write a record and its effects. Return the rows, the record's own first, and notes on interpreted values.

        See `ForgeFS.write_file`.
        """
        notes = list[str]()
        call = WriteCall(
            actor=self._actor,
            session=self._remembered.session,
            call_id=call_id,
            event=self._remembered.event,
            request_hash=digest(path, content),
            after=clock.micros(self._remembered.as_of),
        )
        if path.startswith("/session/"):

            def put_file(writing: Writing) -> None:
                if path.endswith("/"):
                    raise PathRefused("path", f"{path!r} is a folder", "give the name of a file in it")
                folder = f"/session/{self._remembered.session}/"
                own = path.replace("/session/", folder, 1)
                others = (existing for existing in self._remembered.paths(folder) if existing != own)
                if twin := next((other for other in others if other.casefold() == own.casefold()), None):
                    problem = f"{path!r} already exists in another spelling"
                    raise PathRefused("path", problem, f"write to {twin.rpartition('/')[2]}")
                row = self._remembered.newest(own)
                writing.put(own, content, based_on=row.seq if row else 0)

            rows = self._journal.write(call, put_file)
        else:
            kind = kind_of_path(path)
            if kind is None:
                step = "give a folder of /memory/ and new.md, or an id"
                raise PathRefused("path", f"{path!r} is not a path of a record", step)
            if self._actor == AGENT and not kind.agents:
                raise PathRefused("path", f"agents may not write to {kind.folder}", "write your opinion as a View")
            if kind.prefix and self._remembered.newest(path) is None and not path.endswith(f"/{NEW}.md"):
                raise PathRefused("path", f"there is no {path}", f"write to {kind.folder}{NEW}.md; ids are assigned")
            draft = replace(cast("Any", self._read(kind, path, content, notes)), updated=self._remembered.as_of)
            own_record = self._check(draft, path)

            def put_record(writing: Writing) -> None:
                old, record = self._remembered.newest(path), own_record
                before = self._remembered.record(old) if old else None
                if path.endswith(f"/{NEW}.md"):
                    record = replace(record, id=writing.next_id(kind.name))
                writing.put(kind.path(record.id), render(record), based_on=old.seq if old else 0)
                self._effects(writing, before, record)

            rows = self._journal.write(call, put_record)
        self._remembered.take(row for row in rows if self._is_mine(row))
        return rows, notes

    def decide(
        self, path: str, call_id: str, decide_from: Callable[[Writing, Row], tuple[Approval, tuple[Expression, ...]]]
    ) -> None:
        """Write the PM's decision on an Expression and its effects, in one transaction.

        Args: path: The Expression's path. call_id: An id that is unique in the session. decide_from: A function that
        returns the approval and the changed Expressions, given the newest version at `path`.

        Raises:
            BadInput: There is no such Expression, or `decide_from` raises it.
        """
        at = clock.micros(self._remembered.as_of)
        call = WriteCall(actor=PM, session=self._remembered.session, call_id=call_id, after=at)

        def work(writing: Writing) -> None:
            row = writing.newest(path)
            if row is None:
                raise NotThere(path)
            approval, expressions = decide_from(writing, row)
            numbered = replace(approval, id=writing.next_id("approvals"), updated=self._remembered.as_of)
            writing.put(KINDS["approvals"].path(numbered.id), render(numbered))
            for expression in expressions:
                changed_path = KINDS["expressions"].path(expression.id)
                before = cast("Row", writing.newest(changed_path))
                record = replace(expression, updated=self._remembered.as_of)
                writing.put(changed_path, render(record), based_on=before.seq)
                self._effects(writing, parse(KINDS["expressions"], before.content), record)

        self._journal.write(call, work)

    def _effects(self, writing: Writing, before: Record | None, record: Record) -> None:
        was, status = getattr(before, "status", ""), getattr(record, "status", "")
        if status == was:
            return
        by = f"@{self._remembered.session}" if self._remembered.event else ""
        cause = f"{record.id}:{status}{by}"
        if isinstance(record, Expression) and status == "closed":
            pnl = "pending" if record.pnl is None else f"{record.pnl:g}"
            outcome = Outcome(
                id=NEW,
                view=record.view_id,
                expression=record.id,
                category=record.category,
                status=record.exit_reason or "closed",
                closed_at=self._remembered.as_of,
                updated=self._remembered.as_of,
                pnl=record.pnl,
                version=record.version,
                answer=record.answer,
                body=f"Entry: {record.entry_details or 'N/A'}\nExit: {record.exit_details or 'N/A'}\nPnL: {pnl}",
            )
            self._put_new(writing, "outcomes", outcome, cause)
        elif isinstance(record, Expression) and status == "rejected":
            counterfactual = Counterfactual(
                id=NEW,
                decision_type="rejected_expression",
                expression=record.id,
                view=record.view_id,
                status="tracking",
                reference_date=self._remembered.as_of,
                updated=self._remembered.as_of,
                reason=record.rejection_reason or "PM rejected",
            )
            self._put_new(writing, "counterfactuals", counterfactual, cause)
        elif isinstance(record, View) and status == "invalidated":
            for row in writing.all_of("expressions"):
                linked = parse(KINDS["expressions"], row.content)
                if isinstance(linked, Expression) and linked.view_id == record.id and linked.status in REVIEWED:
                    flagged = replace(linked, status="review_required", updated=self._remembered.as_of)
                    writing.put(row.path, render(flagged), based_on=row.seq, cause=f"{cause}:{linked.id}")

    def _put_new(self, writing: Writing, kind: str, record: Record, cause: str) -> None:
        numbered = replace(record, id=writing.next_id(kind))
        writing.put(KINDS[kind].path(numbered.id), render(numbered), cause=cause)

    def _read(self, kind: Kind, path: str, content: str, notes: list[str]) -> Record:
        """Parse a text. Code must use the stored format; an agent or the PM may use any unambiguous format."""
        if self._actor == CODE:
            return parse(kind, content)
        today = clock.new_york_day(self._remembered.as_of)
        draft = read_draft(kind, content, path.rpartition("/")[2].removesuffix(".md"), today)
        notes += draft.notes
        before = self._at(path)
        faults = [*implausible(draft.record, before, self._remembered.as_of)]
        settles = getattr(draft.record, "settles", None)
        if self._followed and settles and not faults and settles != getattr(before, "settles", None):
            faults += [RecordFault(("settles",), *fault) for fault in [self._followed(settles)] if fault]
        if isinstance(draft.record, Expression) and self._at(KINDS["views"].path(draft.record.view_id)) is None:
            problem = f"there is no View {draft.record.view_id[:40]!r}"
            faults.append(RecordFault(("view_id",), problem, "write the View first"))
        is_new = isinstance(draft.record, Expression) and is_new_trade(draft.record, before)
        if self._followed and is_new and (fault := self._followed(cast("Expression", draft.record))):
            faults.append(RecordFault(("instrument",), *fault))
        if SECOND.search(draft.record.body):
            faults.append(RecordFault(("body",), "a second record begins", "write one record per call"))
        return draft.add(kind, faults).checked()

    def _check(self, record: Record, path: str) -> Record:
        """Return the record, cut to the limits if the settings say so. Raises the errors of `write`."""
        if path.rpartition("/")[2] != f"{record.id}.md":
            name_in_path = path.rpartition("/")[2].removesuffix(".md")
            raise RecordUnreadable(
                1, f"the title is {record.id}, but the path is {name_in_path}", f"start with: # {name_in_path}"
            )
        old = self._remembered.newest(path)
        was = getattr(self._remembered.record(old), "status", "") if old else ""
        status = getattr(record, "status", "")
        if was in FINAL and status != was and not isinstance(record, Outcome):
            raise RecordUnreadable(1, f"{record.id} is {was}, which is final", "write a new record")
        settled = any(isinstance(text, View) and text.verdict for text in (record, self._at(path)))
        if settled and self._actor != CODE:
            raise RecordUnreadable(1, "verdict: is written by code when the question is settled", "write a new View")
        if self._actor == AGENT:
            self._check_agent(record, path)
        if isinstance(record, Expression):
            before = self._remembered.record(old) if old else None
            unchanged = before is not None and content_hash(before) == content_hash(record)
            if not (unchanged and record.status == "review_required"):
                book, limits = remembered_book(self._remembered), cast("Constraints | None", self._at(CONSTRAINTS))
                trades = held_in(self._remembered).values()
                if violations := self._guardrails.check(record, book, limits, trades):
                    capped = self._guardrails.cap(record, book, limits, trades) if self._actor == AGENT else None
                    if capped is None:
                        raise GuardrailsBroken(violations, self._guardrails.reasons(record, book, trades))
                    record = capped
            if record.status == "active" and not (was == "active" and unchanged):
                raise ApprovalNeeded(record.id)
        return record

    def _check_agent(self, record: Record, path: str) -> None:
        """Refuse writes that only code and the PM may make: to held positions, results, and paths of untaken trades."""
        if isinstance(record, Counterfactual) and (_tracked(record) or _tracked(self._at(path))):
            step = f"write a new one with status: tracking and without {', '.join(TRACKED)}"
            raise RecordUnreadable(1, "the path of a Counterfactual is written by code", step)
        if not isinstance(record, Expression):
            return
        position = held_in(self._remembered)
        if before := position.get(path):
            if record.status != "review_required" or content_hash(before) != content_hash(record):
                raise PositionHeld(record.id)
            return
        if record.status not in AGENT_STATUSES:
            problem = f"status: an agent may not write {record.status}"
            raise RecordUnreadable(1, problem, "write draft or proposed; the PM and code open and close positions")
        results = RESULTS if not record.adjusts else tuple(name for name in RESULTS if name != "exit_reason")
        if filled := [name for name in results if getattr(record, name) not in (None, "")]:
            raise RecordUnreadable(1, f"{filled[0]}: is written by code when a position is closed", "leave it out")
        if not record.adjusts:
            return
        target = position.get(KINDS["expressions"].path(record.adjusts))
        if target is None:
            raise RecordUnreadable(1, f"adjusts: {record.adjusts[:40]} is not held", "name an active Expression")
        for name in SAME_TRADE:
            if getattr(record, name) != getattr(target, name):
                problem = f"{name}: {target.id} has {getattr(target, name)!r}, which cannot change"
                raise RecordUnreadable(
                    1, problem, f"close {target.id} with an exit_reason and propose a new Expression"
                )
        terms = {name: getattr(record, name) for name in ("target", "stop", "expires")}
        if not record.exit_reason and (fault := next(wrong_terms(target, terms, self._remembered.as_of), None)):
            raise RecordUnreadable(1, f"{fault.fields[0]}: {fault.problem}", fault.next_step)

    def _at(self, path: str) -> Record | None:
        row = self._remembered.newest(path)
        return self._remembered.record(row) if row else None

    def _is_mine(self, row: Row) -> bool:
        """Return whether an effect changed a record that this turn can see. Later writes of other turns stay hidden."""
        if row.part == 0 or not row.cause.endswith(row.path.rpartition("/")[2].removesuffix(".md")):
            return True
        earlier = self._remembered.newest(row.path)
        if earlier is None:
            return False
        was = self._remembered.record(earlier)
        return (
            isinstance(was, Expression)
            and render(replace(was, status="review_required", updated=self._remembered.as_of)) == row.content
        )


def _tracked(record: Record | None) -> bool:
    """Return whether code has followed a Counterfactual, or its text claims so."""
    if not isinstance(record, Counterfactual):
        return False
    return record.status != "tracking" or any(getattr(record, name) not in (None, "", ()) for name in TRACKED)
