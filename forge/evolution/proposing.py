"""Runs that propose changes to skills, after the weekly retrospective or by hand. A run writes only proposals.

A run is a decision on the tape, with a budget and a receipt. A killed run is resumed, and a replay uses the memory
and the skills of that time. A model writes the changes; without a model, code appends the lessons to the skill.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any, cast

from forge.agent import session as sessions
from forge.agent.agent import Agent, Decided, check_receipt, load_receipt
from forge.agent.loop import no_progress
from forge.agent.replay import read_only
from forge.agent.session import Trigger
from forge.core.bundle import keep_skills
from forge.core.config import PROPOSAL
from forge.core.errors import ContentRefused, RecordUnreadable
from forge.core.skill_loader import SkillLoader
from forge.core.tape import Mode
from forge.evolution.drafting import draft
from forge.evolution.propose import FILE, FOLDER, UNTESTED, Claim, new_claims, with_lesson
from forge.evolution.revisions import folder_hash, patched_hash
from forge.fs import ForgeFS
from forge.memory import Memory, Remembered
from forge.memory.effects import CODE
from forge.memory.lessons import approved_lessons
from forge.model import NoModel
from forge.model.budget import Meter
from forge.model.taped import Models, Taped
from forge.model.usage import usages
from forge.records import Proposal, render
from forge.tracking.receipts import DecisionReceipt, cut_offs
from forge.tracking.settlement import whole_memory
from pitlake.clock import instant, iso, micros
from pitlake.errors import BadInput, PitlakeError
from pitlake.models import exposure
from pitlake.recorder import digest

PREFIX = "P-"
"""The prefix of these runs on the tape."""


async def propose(agent: Agent, name: str = "", *, trigger: Trigger = "query", again: bool = False) -> list[Proposal]:
    """Write proposals from agreeing lessons. If no lessons agree, nothing is recorded.

    Args:
        agent: The agent with the lessons; the model of its role `proposal` writes the changes.
        name: The run's name (default: the last run that was interrupted, else a new one).
        trigger: The kind of event that started the run.
        again: Whether to retry claims for which an earlier run wrote no change.

    Returns:
        The proposals. A proposal that could not be written has the status `failed` and states the reason.

    Raises:
        ModelFailed: A model did not answer. The next run continues this one.
    """
    if not name:
        runs = (run for run in reversed(agent.tape.decisions()) if run.startswith(PREFIX))
        name = next((run for run in runs if agent.tape.receipt(run) is None and not agent.tape.is_claimed(run)), "")
    name = name or f"{PREFIX}{micros(agent.memory.journal.clock.now()):013x}{token_hex(5)}"
    with agent.tape.claim(name):
        if name not in agent.tape.decisions():
            at = agent.memory.journal.clock.now()
            remembered = whole_memory(agent.memory, at)
            try:
                model = agent.models(PROPOSAL).id
                # The lessons' texts become part of a model's prompt, so the PM must approve them first.
                trusted = {lesson.record.id for lesson in approved_lessons(remembered)}
            except NoModel:
                model, trusted = "", None
            loader, settings = SkillLoader(agent.skills), agent.config.evolution
            claims = new_claims(remembered, loader, settings, trusted=trusted, again=again)
            if not claims:
                return []
            agent.tape.begin(
                name,
                {
                    "text": f"Propose changes of {', '.join(claim.skill for claim in claims)}.",
                    "as_of": iso(at),
                    "remembered": iso(agent.memory.read_instant(at)),
                    "clock": agent.memory.journal.clock.name,
                    "trigger": trigger,
                    "session": sessions.new(at).session_id,
                    "turn": 1,
                    "model": model,
                    "claims": [asdict(claim) for claim in claims],
                },
            )
        try:
            run = await _run(agent, agent.memory, name, "record")
            agent.memory.flush()
            agent.tape.add_receipt(name, run.receipt().to_json())
        except BaseException as problem:
            agent.tape.fail(name, str(problem) if isinstance(problem, PitlakeError) else type(problem).__name__)
            raise
    return run.proposals


async def replay(
    agent: Agent, decision: str, mode: Mode = "strict", on_progress: Callable[[str], None] = no_progress
) -> Decided:
    """Replay a decision, or a run that proposed changes to skills. Raises the errors of `Agent.replay`."""
    if not decision.startswith(PREFIX):
        return await agent.replay(decision, mode, on_progress)
    agent.tape.inputs(decision)
    run = await _run(agent, read_only(agent.memory), decision, mode)
    recorded = agent.tape.receipt(decision)
    if recorded is None:
        raise BadInput("decision", "was never finished", "resume it: pitlake forge skills propose")
    checked = check_receipt(load_receipt(recorded), run.receipt())
    return Decided(decision, run.answer, "answered", checked, usages(agent.tape, decision))


@dataclass
class _Run:
    """A run. prompt: the system prompt of its requests. models: the models that answered."""

    agent: Agent
    name: str
    inputs: dict[str, Any]
    remembered: Remembered
    skills: Path | None
    proposals: list[Proposal] = field(default_factory=list)
    prompt: str = ""
    models: set[str] = field(default_factory=set)

    @property
    def answer(self) -> str:
        """The proposals, one per line."""
        return "\n".join(describe(proposal) for proposal in self.proposals)

    def receipt(self) -> DecisionReceipt:
        models = cut_offs(self.models, self.agent.lake)
        head, at = self.remembered.head, instant(self.inputs["as_of"])
        return DecisionReceipt(
            decision=self.name,
            session=self.inputs["session"],
            as_of=self.inputs["as_of"],
            market=None,
            memory=head.version,
            tools=(),
            models=models,
            exposure=exposure(models.values(), at) if models else "clean",
            prompt=digest(self.prompt),
            skills=SkillLoader(self.skills).sha256(),
            journal=(head.seq, head.chain),
            end="answered",
            answer=digest(self.answer),
        )


def describe(proposal: Proposal) -> str:
    if proposal.status == "failed":
        return f"{proposal.id} {proposal.skill}: no change was written: {proposal.why}"
    return f"{proposal.id} {proposal.skill}: {', '.join(proposal.links)}; {proposal.tested}"


async def _run(agent: Agent, memory: Memory, name: str, mode: Mode) -> _Run:
    inputs = agent.tape.inputs(name)
    if inputs["clock"] != memory.journal.clock.name:
        raise BadInput("decision", f"was started on the memory {inputs['clock']}", "use that memory")
    remembered = memory.hydrate(inputs["remembered"], session=inputs["session"], turn=inputs["as_of"])
    run = _Run(agent, name, inputs, remembered, keep_skills(agent.tape, name, agent.skills, record=mode == "record"))
    at = instant(inputs["as_of"])
    meter = Meter(agent.tape, name, at, agent.config, inputs["clock"], agent.backtest)
    models = Models(agent.tape, name, mode, meter.over(agent.models))
    files = ForgeFS(memory, remembered, actor=CODE)
    for fields in inputs["claims"]:
        claim = Claim(**{**fields, "lessons": tuple(fields["lessons"])})
        proposal = replace(await _proposal(run, models, claim), id=claim.proposal or "new")
        path, call = f"{FOLDER}{proposal.id}.md", f"{run.name}:{claim.skill}:{','.join(claim.lessons)}"
        try:
            write = files.write_file(path, render(proposal), call_id=call)
        except (RecordUnreadable, ContentRefused) as refused:
            why = " ".join(str(refused).split())
            failed = replace(proposal, file=FILE, status="failed", sha256="", tested="", body="", why=why)
            write = files.write_file(path, render(failed), call_id=f"{call}:refused")
        run.proposals.append(cast("Proposal", remembered.record(write.rows[0])))
    return run


async def _proposal(run: _Run, models: Models, claim: Claim) -> Proposal:
    place = SkillLoader(run.skills).meta(claim.skill).path
    blank = Proposal(
        id="new",
        skill=claim.skill,
        file=FILE,
        author=run.inputs["model"] or CODE,
        base=folder_hash(place),
        links=claim.lessons,
    )
    if not run.inputs["model"]:
        text = with_lesson((place / FILE).read_text(encoding="utf-8"), claim)
        sha256 = patched_hash(place, FILE, text)
        return replace(blank, sha256=sha256, tested=UNTESTED, why="these lessons agree", body=text.strip("\n"))
    lane = models.lane(f"proposal {claim.skill} {claim.lessons[0]}")
    model = Taped(models.model(PROPOSAL, lane, run.inputs["model"]), lane)
    lines = {lesson.record.id: lesson.line() for lesson in approved_lessons(run.remembered)}
    lessons = [lines[name] for name in claim.lessons]
    drafted = await draft(model, lane, place, claim, lessons)
    run.prompt = drafted.prompt
    run.models |= drafted.models
    edit = drafted.edit
    if edit is None:
        return replace(blank, status="failed", why=drafted.answer)
    return replace(
        blank, file=edit.file, sha256=edit.sha256, tested="not tested", why=edit.why, body=edit.text.strip("\n")
    )
