"""Sub-agents: the agent's loop on a separate lane, with read-only tools and an output that must meet its contract.

A sub-agent sees the turn's files as they were at its dispatch, and the results of its dependencies. The agent sees a
sub-agent's result and data only after collecting them, so a replay does not depend on the order of completion.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from forge.agent import contracts
from forge.agent.contracts import Output, OutputUnreadable
from forge.agent.conversation import Conversation, LoopLimits
from forge.agent.help import HelpBackend
from forge.agent.loop import loop, no_progress
from forge.agent.prompt import dated
from forge.agent.tasks import brief, figures
from forge.agent.tasks.proposals import proposals
from forge.agent.tasks.spec import Task, TaskResult, load_result
from forge.agent.tasks.validation import validate_output
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
from forge.memory.guardrails import Guardrails
from forge.model.messages import Model
from forge.model.taped import Models, Retrying, Taped

SYNTHESIS = "portfolio-synthesis"
PROPOSED = "/session/proposed/"
REPAIR = "Your output breaks its contract: {}. Give the whole output again with this corrected; change nothing else."


@dataclass
class TaskContext:
    """The shared context of a turn's sub-agents and reviewers.

    remembered: the turn's memory. own: the PM's folder of skills. help_pages: the files of /help.
    """

    memory: Memory
    remembered: Remembered
    models: Models
    meaning: Meaning
    asks: Mapping[str, Asks]
    shelf: Shelf
    own: Path | None = None
    help_pages: HelpBackend | None = None
    settings: Settings = field(default_factory=Settings)
    limits: LoopLimits = field(default_factory=LoopLimits)
    guardrails: Guardrails = field(default_factory=Guardrails)

    @cached_property
    def skills(self) -> SkillLoader:
        return SkillLoader(self.own)

    def files(self) -> ForgeFS:
        """Return a copy of the turn's current files. Writes to it are not visible to the turn."""
        return ForgeFS(self.memory, self.remembered.fork(), skills=self.own, help_pages=self.help_pages)

    def tools(self, fs: ForgeFS, allowed: tuple[str, ...]) -> dict[str, Tool]:
        """Return `read`, and if allowed `search` and `fetch`, which can write only to the task's own files."""
        files = ReadFS(fs.remembered, self.own, self.help_pages)
        tools: list[Tool] = [ReadTool(files)]
        if "search" in allowed:
            tools.append(SearchTool(files, self.meaning))
        if "fetch" in allowed:
            tools.append(FetchTool(lambda call_id, text: self.shelf.keep(fs, call_id, text), self.asks))
        return {tool.spec.name: tool for tool in tools}

    def retrying_model(self, role: str, lane: Lane) -> Model:
        """Return the taped model of a role, with retries."""
        settings = self.settings
        return Taped(Retrying(self.models.model(role, lane), settings.call_seconds, settings.retries), lane)


class SubAgents:
    """The sub-agents of a turn, as an executor runs them."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self._files: dict[str, ForgeFS] = {}

    def on_dispatch(self, task: Task) -> None:
        """Save the turn's files as they are when a task is dispatched."""
        self._files[task.id] = self._context.files()

    def reveal(self, name: str) -> None:
        """Make the data that a task fetched and wrote visible to the turn."""
        self._context.remembered.take(self._rows(name))

    def recorded_result(self, name: str) -> TaskResult | None:
        """Return a task's result from the tape, or None."""
        step = self._context.models.lane(f"end {name}").first_step()
        return load_result(step.answer) if step else None

    async def work(self, task: Task, used: Mapping[str, TaskResult]) -> TaskResult:
        """Run a task. Raises ModelFailed, Diverged."""
        recorded = self.recorded_result(task.id)
        if recorded is not None and recorded.status != "ok":
            return recorded  # In a replay, the cause of the end, such as a time limit, may be missing from the tape.
        context, fs = self._context, self._files[task.id]
        for result in used.values():
            fs.remembered.take(self._rows(result.id))
        skill = context.skills.load(task.skill)
        role = "synthesis" if skill.name == SYNTHESIS else "subagent"
        lane = context.models.lane(f"task {task.id}")
        conversation = Conversation(
            brief.system_prompt(skill), [dated(brief.first_message(task, used, fs), fs.remembered.as_of)], role
        )
        tools = context.tools(fs, skill.allowed_tools)
        model = context.retrying_model(role, lane)
        text, end, output = await self._output(model, lane, conversation, tools, skill.name)
        result = TaskResult(id=task.id, status="failed", error=end, tokens=conversation.tokens)
        if output is not None:
            result = replace(result, status="ok", error="", summary=output.summary)
            if task.validate or task.validate_contrastive:
                criteria, contrastive = section(skill.prompt, "Eval Criteria"), task.validate_contrastive
                validator = context.retrying_model(
                    "contrastive_validation" if contrastive else "validation",
                    context.models.lane(f"validation {task.id}"),
                )
                validation = await validate_output(validator, task.objective, criteria, text, contrastive=contrastive)
                result = replace(result, validation=validation)
        proposed = list[str]()
        for number, write in enumerate(proposals(fs, output) if output and not result.rejected else (), start=1):
            if write.problem:
                proposed.append(f"{write.path} not proposed: {write.problem}")
                continue
            place = f"{PROPOSED}{task.id}/{write.path.rpartition('/')[2]}"
            fs.write_file(place, write.text, call_id=f"{self._call_prefix(task.id)}proposed {number}")
            proposed.append(f"{place} → confirm with write('{write.path}', …)")
        result = replace(result, proposed=tuple(proposed))
        verdict = feedback = ""
        if result.validation:
            kind = "contrastive" if result.validation.contrastive else "standard"
            verdict, feedback = f"{kind}: {result.validation.verdict}", result.validation.feedback
        head = [
            f"# {task.id}",
            f"skill: {task.skill}",
            f"status: {result.status}",
            f"validation: {verdict}",
            f"feedback: {feedback}",
            f"error: {' '.join(result.error.split())}",
            f"depends_on: {', '.join(task.depends_on)}",
            f"tokens: {result.tokens}",
        ]
        ledger = figures.figure_ledger(text, fs)
        content = "\n".join([*(line.rstrip() for line in head), "---", "", text, "", ledger]).rstrip()
        fs.write_file(f"{brief.RESULTS}{task.id}.md", content + "\n", call_id=f"{self._call_prefix(task.id)}result")
        return result

    async def _output(
        self, model: Model, lane: Lane, conversation: Conversation, tools: dict[str, Tool], skill: str
    ) -> tuple[str, str, Output | None]:
        """Return the answer, the reason if it is unusable, and its parsed part. The model may correct its output
        one time.
        """
        text = problem = ""
        for _ in range(2):
            limits, window = self._context.limits, self._context.models.window(lane, model.id)
            text, end = await loop(model, lane, conversation, tools, limits, no_progress, window)
            if end != "answered":
                return text, f"no answer: {conversation.stopped}", None
            try:
                return text, "", contracts.read_output(skill, text)
            except OutputUnreadable as unreadable:
                problem = str(unreadable)
                conversation.messages.append(REPAIR.format(problem))
        return text, f"unreadable output: {problem}", None

    def record_end(self, task: Task, result: TaskResult) -> TaskResult:
        """Record how a task ended. A skipped task is not recorded, because the skip follows from the other tasks."""
        if result.status != "skipped":
            self._context.models.lane(f"end {task.id}").record(task.id, result.to_json())
        return result

    def _call_prefix(self, name: str) -> str:
        return f"{self._context.models.decision}:task {name}:"

    def _rows(self, name: str) -> list[Row]:
        return self._context.memory.journal.written_by(self._context.remembered.session, self._call_prefix(name))
