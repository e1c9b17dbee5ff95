"""A turn of the agent: the turn records its inputs, runs the loop over its tape, and stores a receipt of the result.

Running a decision again under its name resumes it where it was killed. A replay writes nothing.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Any

from forge.agent import session as sessions
from forge.agent.conversation import Conversation, End, LoopLimits
from forge.agent.help import HelpBackend
from forge.agent.loop import loop, no_progress
from forge.agent.prompt import dated, stable_length, system_prompt
from forge.agent.replay import read_only
from forge.agent.session import SessionContext, Trigger
from forge.agent.tasks.crew import Crew
from forge.agent.tasks.subagent import TaskContext
from forge.agent.tools.fetch import Asks, Shelf
from forge.agent.tools.planned import PLANS, forms, lake_names
from forge.agent.tools.toolset import FULL, agent_tools
from forge.core.bundle import keep_skills
from forge.core.config import Config
from forge.core.embedder import Meaning, VectorCache
from forge.core.skill_loader import SkillLoader
from forge.core.tape import Diverged, Lane, Mode, Tape
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.cash import cash
from forge.model import AnswerCut, Model
from forge.model.budget import Meter
from forge.model.taped import Models, Retrying, Taped
from forge.model.usage import RequestUsage, usages
from forge.providers import all_providers
from forge.providers.base import At
from forge.tracking.followable import Followable
from forge.tracking.receipts import DecisionReceipt, cut_off, cut_offs
from forge.tracking.risk import guardrails, stops
from pitlake.clock import instant, iso, micros, now
from pitlake.errors import BadInput, LakeNotFound, PitlakeError
from pitlake.lake.lake import Lake
from pitlake.models import exposure
from pitlake.recorder import digest

NO_MARKET = "there is no market lake, so fetch finds nothing; name one with --lake or PITLAKE_LAKE"


@dataclass(frozen=True)
class Decided:
    """The result of a turn. requests: the tokens that each request to a model used."""

    decision: str
    answer: str
    end: End
    receipt: DecisionReceipt
    requests: tuple[RequestUsage, ...] = ()


@dataclass
class Turn:
    """A running turn: its inputs, files and conversation. skills: their folder at the start of the turn."""

    decision: str
    inputs: dict[str, Any]
    fs: ForgeFS
    conversation: Conversation
    lane: Lane
    memory: Memory
    skills: Path | None


@dataclass(frozen=True)
class Agent:
    """The agent with its memory, tape and models.

    models: a function from role to model, called only when a model is needed. lake: the market's lake. version: the
    version of that lake (default: newest).
    """

    memory: Memory
    tape: Tape
    models: Callable[[str], Model]
    lake: str | Path | None = None
    config: Config = field(default_factory=Config)
    limits: LoopLimits = field(default_factory=LoopLimits)
    skills: Path | None = None
    vectors: VectorCache = field(default_factory=VectorCache)
    version: int | None = None
    states_cut_off: bool = True
    """Whether a turn states when the model's training ended.

    A masked run omits this date, because the date would reveal the mask.
    """
    backtest: tuple[Tape, ...] = ()
    """The tapes of all runs that share the budget of a backtest."""
    trained_to: str = ""
    """The last day of the training data of all its models, if the settings give it."""

    async def ask(
        self,
        text: str,
        as_of: str | datetime | None = None,
        *,
        decision: str = "",
        trigger: Trigger = "query",
        user: str = "default",
        event: str = "",
        on_progress: Callable[[str], None] = no_progress,
    ) -> Decided:
        """Answer a question as of an instant.

        The decision's name, question and turn of the session are reserved on the tape before a model is called.

        Args:
            text: The question; "" to resume a decision.
            as_of: The instant (default: now).
            decision: The name to decide under (default: a new one). An interrupted decision is resumed.
            trigger: The kind of event that started the turn.
            user: The user to whom the conversation belongs.
            event: The event to decide; earlier attempts at it are then hidden.
            on_progress: Called with a line of text for each step.

        Raises:
            BadInput: The decision has a different question or memory, or is already being decided.
            NoModel: A model is needed and none is configured. The turn is recorded as failed.
            ModelFailed: A model did not answer. The turn is recorded as failed.
        """
        at = instant(as_of) if as_of is not None else self.memory.journal.clock.now()
        name = decision or f"D-{micros(at):013x}{token_hex(5)}"
        with self.tape.claim(name):
            if name in self.tape.decisions():
                inputs = self._inputs(name)
                if text not in ("", inputs["text"]):
                    raise BadInput("decision", f"{name} was started with a different question", "ask without that name")
            else:
                with self.tape.reserving():
                    inputs = self.tape.begin(name, self._new_inputs(text, at, trigger, user, event))
            if inputs["clock"] != self.memory.journal.clock.name:
                raise BadInput("decision", f"was started on the memory {inputs['clock']}", "resume it with that memory")
            on_progress(f"decision {name}")
            if inputs["market"] is None:
                on_progress(NO_MARKET)
            try:
                turn = self._turn(self.memory, name, inputs, "record")
                answer, end = await self._run(turn, on_progress)
                context, exchange = SessionContext(inputs["session"], inputs["turn"]), (inputs["text"], answer)
                at, stopped = instant(inputs["as_of"]), turn.conversation.stopped
                sessions.record_turn(
                    self.memory, turn.fs, context, inputs["trigger"], inputs["user"], at, exchange, stopped
                )
                minutes = self.config.sessions.session_timeout_minutes
                sessions.archive_expired(self.memory, turn.fs, context, at, minutes)
                self.memory.flush()
                receipt = self.tape.add_receipt(name, self._receipt(turn, answer, end).to_json())
                return Decided(name, answer, end, load_receipt(receipt), usages(self.tape, name))
            except BaseException as problem:
                reason = str(problem) if isinstance(problem, PitlakeError) else type(problem).__name__
                self.tape.fail(name, reason)
                raise

    def _inputs(self, name: str) -> dict[str, Any]:
        inputs = self.tape.inputs(name)
        if "limits" not in inputs:
            raise BadInput("decision", f"{name} answers no question", "give a decision that `ask` printed")
        return inputs

    async def replay(
        self, decision: str, mode: Mode = "strict", on_progress: Callable[[str], None] = no_progress
    ) -> Decided:
        """Replay a decision from the tape with the memory of that time. Mode `live-tools` runs its tools again.

        Raises Diverged with the step or receipt field that differs, BadInput for a decision that is not on the tape.
        """
        inputs = self._inputs(decision)
        turn = self._turn(read_only(self.memory), decision, inputs, mode)
        answer, end = await self._run(turn, on_progress)
        turn.lane.check_end()
        receipt = self._receipt(turn, answer, end)
        recorded = self.tape.receipt(decision)
        if recorded is None:
            raise BadInput("decision", "was never finished", f"resume it: pitlake forge ask --resume {decision}")
        checked = check_receipt(load_receipt(recorded), receipt)
        return Decided(decision, answer, end, checked, usages(self.tape, decision))

    def fetched(self, decision: str) -> list[dict[str, Any]]:
        """Return the fetches of a decision, each with its label, data, gaps and receipts.

        The rows come from the tape and from memory, so they are complete for resumed turns and replays too.

        Raises BadInput for a decision that is not on the tape.
        """
        session = self.tape.inputs(decision)["session"]
        wrote = {row.call_id: row.content for row in self.memory.written_by(session, decision)}
        return [json.loads(wrote[call]) for call in self.tape.calls(decision, "fetch") if call in wrote]

    def _new_inputs(self, text: str, at: datetime, trigger: Trigger, user: str, event: str) -> dict[str, Any]:
        if at > now() + timedelta(seconds=5):
            raise BadInput("as_of", f"{iso(at)} is in the future", "give a time up to now")
        model = self.models("agent").id
        remembered = self.memory.read_instant(at)
        minutes = self.config.sessions.session_timeout_minutes
        profile = self.config.model.profile, self.config.model.typed_writes
        context = sessions.resolve_session(self.memory.hydrate(remembered), trigger, user, at, minutes, event)
        # The turn is the session's next free one, or the first of a new session if a turn is still running.
        turn = context.turn_number
        for name in self.tape.turns(context.session_id):
            turn = max(turn, self.tape.inputs(name)["turn"] + 1)
            if self.tape.receipt(name) is None and self.tape.failure(name) is None:
                if self.tape.is_claimed(name):
                    context = sessions.new(at)
                    break
                self.tape.fail(name, "its process ended before it was answered")
        else:
            context = replace(context, turn_number=turn)
        try:
            market = self.version or Lake(self.lake).head()
        except LakeNotFound:
            market = None
        return {
            "text": text,
            "as_of": iso(at),
            "remembered": iso(remembered),
            "clock": self.memory.journal.clock.name,
            "trigger": trigger,
            "user": user,
            "event": event,
            "session": context.session_id,
            "turn": context.turn_number,
            "market": market,
            "model": model,
            "trained_to": None if not self.states_cut_off else self.trained_to or cut_off(model, self.lake) or "",
            "limits": [self.limits.turns, self.limits.repeats],
            "profile": [*profile],
            "plan": [*PLANS.get(profile, ())],
        }

    def _turn(self, memory: Memory, decision: str, inputs: dict[str, Any], mode: Mode) -> Turn:
        remembered = memory.hydrate(
            inputs["remembered"], session=inputs["session"], event=inputs["event"], turn=inputs["as_of"]
        )
        skills = keep_skills(self.tape, decision, self.skills, record=mode == "record")
        own_providers = self.config.own_providers
        at = self._viewpoint(inputs)
        help_pages = HelpBackend(at, own_providers)
        limits = guardrails(self.config.guardrails, at, cash(remembered), stops(remembered))
        fs = ForgeFS(memory, remembered, limits, skills, help_pages=help_pages, followed=Followable(at).fault)
        prior = sessions.history_tail(fs) if inputs["turn"] > 1 else None
        profile, names = inputs.get("profile", FULL)[0], inputs.get("plan", ())
        calls = forms(lake_names(fs)) if names else {}
        plan = tuple(calls[name] for name in names)
        system = system_prompt(fs, inputs["turn"], prior, own_providers, "planned" if plan else profile)
        lane = self.tape.lane(decision, mode=mode)
        system = lane.keep_content("system", system)
        message = dated(inputs["text"], instant(inputs["as_of"]), inputs["trained_to"])
        conversation = Conversation(system, [message], stable=stable_length(system), plan=plan)
        return Turn(decision, inputs, fs, conversation, lane, memory, skills)

    async def _run(self, turn: Turn, on_progress: Callable[[str], None]) -> tuple[str, End]:
        meter = Meter(
            self.tape, turn.decision, instant(turn.inputs["as_of"]), self.config, turn.inputs["clock"], self.backtest
        )
        models = Models(self.tape, turn.decision, turn.lane.mode, meter.over(self.models), self.config.context)

        def compactor(call_id: str) -> Model:
            lane = models.lane(f"compact {call_id}")
            return Taped(models.model("compact", lane), lane)

        meaning = Meaning(self.vectors, (self.config.search.semantic_weight, self.config.search.recency_weight))
        asks, remembered = self._sources(turn.inputs), turn.fs.remembered
        shelf = Shelf(remembered, turn.memory.written_by(remembered.session, turn.decision))
        limits = LoopLimits(*turn.inputs["limits"])
        context = TaskContext(
            turn.memory,
            remembered,
            models,
            meaning,
            asks,
            shelf,
            turn.skills,
            HelpBackend(self._viewpoint(turn.inputs), self.config.own_providers),
            self.config.executor,
            limits,
            guardrails(self.config.guardrails, self._viewpoint(turn.inputs), cash(remembered), stops(remembered)),
        )
        crew = Crew(context, turn.fs)
        try:
            if turn.lane.mode == "record":
                crew.resume(self.tape.steps(turn.decision))
            profile = turn.inputs.get("profile", FULL)
            tools = agent_tools(turn.fs, meaning, asks, compactor, turn.conversation, shelf, crew.tools, profile)
            agent_model = models.model("agent", turn.lane, turn.inputs["model"])
            model = Taped(Retrying(agent_model, None, self.config.executor.retries, AnswerCut), turn.lane)
            window = models.window(turn.lane, model.id)
            answer, end = await loop(model, turn.lane, turn.conversation, tools, limits, on_progress, window)
            return await crew.end(answer), end
        finally:
            await crew.executor.close(abandon=True)

    def _sources(self, inputs: dict[str, Any]) -> dict[str, Asks]:
        at, providers = self._viewpoint(inputs), all_providers(self.config.own_providers)

        async def asks(name: str, params: Mapping[str, Any]) -> Any:
            return await providers[name].fetch(params, at)

        return {name: partial(asks, name) for name in providers}

    def _viewpoint(self, inputs: dict[str, Any]) -> At:
        return At(as_of=instant(inputs["as_of"]), lake=self.lake, version=inputs["market"])

    def _receipt(self, turn: Turn, answer: str, end: End) -> DecisionReceipt:
        at = instant(turn.inputs["as_of"])
        names = turn.conversation.models
        models = cut_offs(names, self.lake) | dict.fromkeys(names if self.trained_to else (), self.trained_to)
        head = turn.fs.remembered.head
        return DecisionReceipt(
            decision=turn.decision,
            session=turn.inputs["session"],
            as_of=turn.inputs["as_of"],
            market=turn.inputs["market"],
            memory=head.version,
            tools=tuple(
                receipt for answer_of_fetch in self.fetched(turn.decision) for receipt in answer_of_fetch["receipts"]
            ),
            models=models,
            exposure=exposure(models.values(), at),
            prompt=digest(turn.conversation.system),
            skills=SkillLoader(turn.skills).sha256(),
            journal=(head.seq, head.chain),
            end=end,
            answer=digest(answer),
        )


def load_receipt(text: str) -> DecisionReceipt:
    fields = json.loads(text)
    return DecisionReceipt(**{**fields, "tools": tuple(fields["tools"]), "journal": tuple(fields["journal"])})


def check_receipt(recorded: DecisionReceipt, replayed: DecisionReceipt) -> DecisionReceipt:
    """Return the recorded receipt if the replay's receipt is the same. Raises Diverged with the field that differs.

    Two fields may differ: the memory's version, because the journal may have been published meanwhile, and the
    registry's cut-offs of models.
    """
    then, again = asdict(recorded), asdict(replayed)
    for name in ("session", "as_of", "market", "tools", "prompt", "skills", "journal", "end", "answer"):
        if then[name] != again[name]:
            raise Diverged("receipt", 0, name, f"was {then[name]!r}, now {again[name]!r}")
    return recorded
