"""A sub-agent at work: the agent's loop on a lane of its own, with tools that read, its output held to a contract.

It sees the turn's files as they were when it was dispatched, and what its dependencies came to. What it fetched and
its result are seen by the agent once it collects them, so that a replay sees the same whatever ended when.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from forge.agent import contracts
from forge.agent.contracts import Output, OutputUnreadable
from forge.agent.conversation import Conversation, LoopLimits
from forge.agent.loop import loop, unsaid
from forge.agent.tasks import brief, figures
from forge.agent.tasks.proposals import proposals
from forge.agent.tasks.spec import Task, TaskResult, Validation, loaded
from forge.agent.tasks.validation import validated
from forge.agent.tools.base import Tool
from forge.agent.tools.fetch import Asks, FetchTool, Shelf
from forge.agent.tools.read import ReadTool
from forge.agent.tools.search import SearchTool
from forge.agent.tools.text import section
from forge.core.config import ExecutorSettings as Settings
from forge.core.embedder import Meaning
from forge.core.skill_loader import SkillLoader
from forge.core.tape import Lane
from forge.fs import ForgeFS, ReadFS
from forge.memory import Memory, Remembered, Row
from forge.model.messages import Model
from forge.model.taped import Models, Patient, Taped

SYNTHESIS = "portfolio-synthesis"
PROPOSED = "/session/proposed/"
REPAIR = "Your output does not keep to its form: {}. Give the whole output again, mended; change nothing else."


@dataclass
class TaskContext:
    """What sub-agents and reviewers of a turn share. known: what it remembers; own: the PM's folder of skills."""

    memory: Memory
    known: Remembered
    models: Models
    meaning: Meaning
    asks: Mapping[str, Asks]
    shelf: Shelf
    own: Path | None = None
    settings: Settings = field(default_factory=Settings)
    limits: LoopLimits = field(default_factory=LoopLimits)

    @cached_property
    def skills(self) -> SkillLoader:
        """The skills in force."""
        return SkillLoader(self.own)

    def files(self) -> ForgeFS:
        """The turn's files as they are now; what is written there the turn does not see."""
        return ForgeFS(self.memory, self.known.fork(), skills=self.own)

    def tools(self, fs: ForgeFS, allowed: tuple[str, ...]) -> dict[str, Tool]:
        """read, and of search and fetch what is allowed. None of them holds anything that can write elsewhere."""
        files = ReadFS(fs.remembered, self.own)
        made: list[Tool] = [ReadTool(files)]
        if "search" in allowed:
            made.append(SearchTool(files, self.meaning))
        if "fetch" in allowed:
            made.append(FetchTool(lambda call_id, text: self.shelf.keep(fs, call_id, text), self.asks))
        return {tool.spec.name: tool for tool in made}

    def patient(self, role: str, lane: Lane) -> Model:
        """The taped model of a role, asked again where it fails."""
        settings = self.settings
        return Taped(Patient(self.models.model(role, lane), settings.call_seconds, settings.retries), lane)


class SubAgents:
    """The sub-agents of a turn, as an executor runs them."""

    def __init__(self, room: TaskContext) -> None:
        self._room = room
        self._files: dict[str, ForgeFS] = {}

    def started(self, task: Task) -> None:
        """Take down what the turn knows as a task is dispatched."""
        self._files[task.id] = self._room.files()

    def shown(self, name: str) -> None:
        """Let the turn see what a task fetched and wrote."""
        self._room.known.take(self._rows(name))

    def kept(self, name: str) -> TaskResult | None:
        """How a task ended, by the tape."""
        step = self._room.models.lane(f"end {name}").first()
        return loaded(step.answer) if step else None

    async def work(self, task: Task, used: Mapping[str, TaskResult]) -> TaskResult:
        """Run a task. Raises ModelFailed, Diverged."""
        kept = self.kept(task.id)
        if kept is not None and kept.status != "ok":
            return kept  # a replay: why it ended is not on the tape alone, such as time
        room, fs = self._room, self._files[task.id]
        for result in used.values():
            fs.remembered.take(self._rows(result.id))
        skill = room.skills.load(task.skill)
        role = "synthesis" if skill.name == SYNTHESIS else "subagent"
        lane = room.models.lane(f"task {task.id}")
        talk = Conversation(brief.system(skill), [brief.message(task, used, fs)], role)
        tools = room.tools(fs, skill.allowed_tools)
        text, end, output = await self._output(room.patient(role, lane), lane, talk, tools, skill.name)
        result = TaskResult(id=task.id, status="failed", error=end, tokens=talk.tokens)
        if output is not None:
            result = replace(result, status="ok", error="", summary=output.summary)
            if task.validate or task.validate_contrastive:
                criteria = section(skill.prompt, "Eval Criteria")
                result = replace(result, validation=await self._validated(task, criteria, text))
        proposed = self._proposed(fs, task, output) if output and not result.rejected else ()
        result = replace(result, proposed=proposed)
        self._write(fs, task, result, text)
        return result

    async def _output(
        self, model: Model, lane: Lane, talk: Conversation, tools: dict[str, Tool], skill: str
    ) -> tuple[str, str, Output | None]:
        """What it says, why it does not count, and its readable part, if any: one repair is asked for."""
        text = problem = ""
        for _ in range(2):
            text, end = await loop(model, lane, talk, tools, self._room.limits, unsaid)
            if end != "answered":
                return text, f"it did not answer: {talk.stopped}", None
            try:
                return text, "", contracts.read(skill, text)
            except OutputUnreadable as unreadable:
                problem = str(unreadable)
                talk.messages.append(REPAIR.format(problem))
        return text, f"its output can't be read: {problem}", None

    async def _validated(self, task: Task, criteria: str, text: str) -> Validation:
        contrastive = task.validate_contrastive
        role = "contrastive_validation" if contrastive else "validation"
        lane = self._room.models.lane(f"validation {task.id}")
        model = self._room.patient(role, lane)
        return await validated(model, task.objective, criteria, text, contrastive=contrastive)

    def _proposed(self, fs: ForgeFS, task: Task, output: Output) -> tuple[str, ...]:
        told = []
        for number, one in enumerate(proposals(fs, output), start=1):
            if one.problem:
                told.append(f"{one.path} not made: {one.problem}")
                continue
            place = f"{PROPOSED}{task.id}/{one.path.rpartition('/')[2]}"
            fs.write_file(place, one.text, call_id=f"{self._called(task.id)}proposed {number}")
            told.append(f"{place} → confirm with write('{one.path}', …)")
        return tuple(told)

    def _write(self, fs: ForgeFS, task: Task, result: TaskResult, text: str) -> None:
        validation = result.validation
        verdict = (
            f"{'contrastive' if validation.contrastive else 'standard'}: {validation.verdict}" if validation else ""
        )
        head = [
            f"# {task.id}",
            f"skill: {task.skill}",
            f"status: {result.status}",
            f"validation: {verdict}",
            f"feedback: {validation.feedback if validation else ''}",
            f"error: {' '.join(result.error.split())}",
            f"depends_on: {', '.join(task.depends_on)}",
            f"tokens: {result.tokens}",
        ]
        told = "\n".join([*(line.rstrip() for line in head), "---", "", text, "", figures.ledger(text, fs)]).rstrip()
        fs.write_file(f"{brief.RESULTS}{task.id}.md", told + "\n", call_id=f"{self._called(task.id)}result")

    def ended(self, task: Task, result: TaskResult) -> TaskResult:
        """Keep how a task ended. One that was skipped is not: that follows from the others."""
        if result.status != "skipped":
            self._room.models.lane(f"end {task.id}").told(task.id, result.dumped())
        return result

    def _called(self, name: str) -> str:
        return f"{self._room.models.decision}:task {name}:"

    def _rows(self, name: str) -> list[Row]:
        return self._room.memory.journal.written_by(self._room.known.session, self._called(name))
