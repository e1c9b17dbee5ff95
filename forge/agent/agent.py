"""A turn of the agent: what it starts from is pinned and kept, the loop runs over its tape, a receipt says what it was.

Run again with the same name, a decision goes on where it was killed; replayed, it writes nothing.
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
from forge.agent.loop import loop, unsaid
from forge.agent.prompt import prompt
from forge.agent.replay import read_only
from forge.agent.session import SessionContext, Trigger
from forge.agent.tasks.crew import Crew
from forge.agent.tasks.subagent import TaskContext
from forge.agent.tools.fetch import Asks, Shelf
from forge.agent.tools.toolset import agents
from forge.core.config import Config
from forge.core.embedder import KeptVectors, Meaning
from forge.core.skill_loader import SkillLoader
from forge.core.tape import Diverged, Lane, Mode, Tape, digest
from forge.fs import ForgeFS
from forge.memory import Memory
from forge.memory.guardrails import Guardrails
from forge.model import Model
from forge.model.budget import Meter
from forge.model.taped import Models, Taped
from forge.providers import all_providers
from forge.providers.base import At
from forge.tracking.receipts import Receipt, cut_off, exposure
from pitlake.clock import instant, iso, micros, now
from pitlake.errors import BadInput, LakeNotFound, PitlakeError
from pitlake.lake.lake import Lake

NO_MARKET = "there is no market lake: fetch finds nothing; name one with --lake or PITLAKE_LAKE, or fill one"


@dataclass(frozen=True)
class Decided:
    """What a turn came to."""

    decision: str
    answer: str
    end: End
    receipt: Receipt


@dataclass
class Turn:
    """One turn at work: what it started from, its files and its conversation."""

    decision: str
    begun: dict[str, Any]
    fs: ForgeFS
    talk: Conversation
    lane: Lane
    memory: Memory


@dataclass(frozen=True)
class Agent:
    """The agent at a desk. models: role to model, asked only where one is needed; lake: the market's, of which version
    (default: the newest).
    """

    memory: Memory
    tape: Tape
    models: Callable[[str], Model]
    lake: str | Path | None = None
    config: Config = field(default_factory=Config)
    limits: LoopLimits = field(default_factory=LoopLimits)
    skills: Path | None = None
    vectors: KeptVectors = field(default_factory=KeptVectors)
    version: int | None = None

    async def ask(
        self,
        text: str,
        as_of: str | datetime | None = None,
        *,
        decision: str = "",
        trigger: Trigger = "query",
        user: str = "default",
        event: str = "",
        said: Callable[[str], None] = unsaid,
    ) -> Decided:
        """Decide as of an instant (default: now).

        The decision's name, its question and its turn of the session are reserved on the tape before a model is asked.

        Args:
            text: The question; "" with the name of a decision that was begun.
            decision: The name to decide under (default: a new one). One that was begun goes on where it stopped.

        Raises:
            BadInput: That decision was begun with another question or memory, or is being decided already.
            NoModel, ModelFailed: A model has to be asked and there is none, or it failed. The turn is kept as failed.
        """
        at = instant(as_of) if as_of else self.memory.journal.clock.now()
        name = decision or f"D-{micros(at):013x}{token_hex(5)}"
        with self.tape.claim(name):
            begun = self._reserve(name, text, at, trigger, user, event)
            said(f"decision {name}")
            if begun["market"] is None:
                said(NO_MARKET)
            try:
                return await self._decide(name, begun, said)
            except BaseException as problem:
                reason = str(problem) if isinstance(problem, PitlakeError) else type(problem).__name__
                self.tape.fail(name, reason)
                raise

    def _reserve(self, name: str, text: str, at: datetime, trigger: Trigger, user: str, event: str) -> dict[str, Any]:
        """Return what a decision starts from, kept on the tape."""
        if name in self.tape.decisions():
            begun = self.tape.begun(name)
            if text not in ("", begun["text"]):
                raise BadInput("decision", f"{name} was begun with another question", "ask it without that name")
        else:
            with self.tape.reserving():
                begun = self.tape.begin(name, self._begin(text, at, trigger, user, event))
        if begun["clock"] != self.memory.journal.clock.name:
            raise BadInput("decision", f"was begun on the memory {begun['clock']}", "resume it with that memory")
        return begun

    async def _decide(self, name: str, begun: dict[str, Any], said: Callable[[str], None]) -> Decided:
        turn = self._turn(self.memory, name, begun, "record")
        answer, end = await self._run(turn, said)
        context = SessionContext(begun["session"], begun["turn"])
        told = (begun["text"], answer)
        at, stopped = instant(begun["as_of"]), turn.talk.stopped
        sessions.record_turn(self.memory, turn.fs, context, begun["trigger"], begun["user"], at, told, stopped)
        self.memory.flush()
        receipt = self.tape.keep_receipt(name, self._receipt(turn, answer, end).dumped())
        return Decided(name, answer, end, loaded(receipt))

    async def replay(self, decision: str, mode: Mode = "strict", said: Callable[[str], None] = unsaid) -> Decided:
        """Decide again from the tape, with the memory of then: strict, or with the tools asking again.

        Raises Diverged naming the step or what differs in the receipt, BadInput for a decision that is not on the tape.
        """
        begun = self.tape.begun(decision)
        turn = self._turn(read_only(self.memory), decision, begun, mode)
        answer, end = await self._run(turn, said)
        turn.lane.ended()
        receipt = self._receipt(turn, answer, end)
        kept = self.tape.receipt(decision)
        if kept is None:
            raise BadInput("decision", "was never finished", f"go on with it: pitlake forge ask --resume {decision}")
        return Decided(decision, answer, end, same(loaded(kept), receipt))

    def fetched(self, decision: str) -> list[dict[str, Any]]:
        """What a decision fetched, each with its label, data, gaps and receipts: from the tape and what its calls
        wrote, so that a resumed turn and a replay have all of it. Raises BadInput for one that is not on the tape.
        """
        session = self.tape.begun(decision)["session"]
        wrote = {row.call_id: row.content for row in self.memory.written_by(session, decision)}
        return [json.loads(wrote[call]) for call in self.tape.calls(decision, "fetch") if call in wrote]

    def _begin(self, text: str, at: datetime, trigger: Trigger, user: str, event: str) -> dict[str, Any]:
        """All that a turn starts from."""
        remembered = self.memory.standing(at)
        minutes = self.config.sessions.session_timeout_minutes
        context = sessions.resolved(self.memory.hydrate(remembered), trigger, user, at, minutes, event)
        context = self._free_turn(context, at)
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
            "market": self._market(),
            "model": self.models("agent").id,
            "limits": [self.limits.turns, self.limits.repeats],
        }

    def _free_turn(self, context: SessionContext, at: datetime) -> SessionContext:
        """Return the session's next turn that nobody has reserved; of a new session while one of its turns is open."""
        turn = context.turn_number
        for name in self.tape.turns(context.session_id):
            turn = max(turn, self.tape.begun(name)["turn"] + 1)
            if self.tape.receipt(name) is None and self.tape.failure(name) is None:
                if self.tape.is_claimed(name):
                    return sessions.new(at)
                self.tape.fail(name, "its process ended before it was answered")
        return replace(context, turn_number=turn)

    def _turn(self, memory: Memory, decision: str, begun: dict[str, Any], mode: Mode) -> Turn:
        known = memory.hydrate(begun["remembered"], session=begun["session"], event=begun["event"], turn=begun["as_of"])
        fs = ForgeFS(memory, known, Guardrails(self.config.guardrails), self.skills)
        system = prompt(fs, begun["turn"], sessions.prior(fs) if begun["turn"] > 1 else None)
        return Turn(
            decision, begun, fs, Conversation(system, [begun["text"]]), self.tape.lane(decision, mode=mode), memory
        )

    async def _run(self, turn: Turn, said: Callable[[str], None]) -> tuple[str, End]:
        meter = Meter(self.tape, turn.decision, instant(turn.begun["as_of"]), self.config)
        models = Models(self.tape, turn.decision, turn.lane.mode, meter.over(self.models))

        def compactor(call_id: str) -> Model:
            lane = models.lane(f"compact {call_id}")
            return Taped(models.model("compact", lane), lane)

        meaning = Meaning(self.vectors, (self.config.search.semantic_weight, self.config.search.recency_weight))
        asks, known = self._sources(turn.begun), turn.fs.remembered
        shelf = Shelf(known, turn.memory.written_by(known.session, turn.decision))
        turns, *_, repeats = turn.begun["limits"]  # a tape may hold a third, of tokens, which budgets keep
        limits = LoopLimits(turns, repeats)
        room = TaskContext(turn.memory, known, models, meaning, asks, shelf, self.skills, self.config.executor, limits)
        crew = Crew(room, turn.fs)
        try:
            if turn.lane.mode == "record":
                crew.resume(self.tape.steps(turn.decision))
            tools = agents(turn.fs, meaning, asks, compactor, turn.talk, shelf, crew.tools)
            model = Taped(models.model("agent", turn.lane, turn.begun["model"]), turn.lane)
            answer, end = await loop(model, turn.lane, turn.talk, tools, limits, said)
            return await crew.end(answer), end
        finally:
            await crew.executor.close(abandon=True)

    def _sources(self, begun: dict[str, Any]) -> dict[str, Asks]:
        at = At(as_of=instant(begun["as_of"]), lake=self.lake, version=begun["market"])

        async def asks(name: str, params: Mapping[str, Any]) -> Any:
            return await all_providers()[name].fetch(params, at)

        return {name: partial(asks, name) for name in all_providers()}

    def _market(self) -> int | None:
        try:
            return self.version or Lake(self.lake).head()
        except LakeNotFound:
            return None

    def _receipt(self, turn: Turn, answer: str, end: End) -> Receipt:
        at = instant(turn.begun["as_of"])
        cut_offs = {one: cut_off(one, self.lake, now() - timedelta(seconds=1)) for one in sorted(turn.talk.models)}
        head = turn.fs.remembered.head
        return Receipt(
            decision=turn.decision,
            session=turn.begun["session"],
            as_of=turn.begun["as_of"],
            market=turn.begun["market"],
            memory=head.version,
            tools=tuple(one for told in self.fetched(turn.decision) for one in told["receipts"]),
            models=cut_offs,
            exposure=exposure(cut_offs.values(), at),
            prompt=digest(turn.talk.system),
            skills=SkillLoader(self.skills).sha256(),
            journal=(head.seq, head.chain),
            end=end,
            answer=digest(answer),
        )


def loaded(text: str) -> Receipt:
    """A kept receipt."""
    told = json.loads(text)
    return Receipt(**{**told, "tools": tuple(told["tools"]), "journal": tuple(told["journal"])})


def same(kept: Receipt, found: Receipt) -> Receipt:
    """The kept receipt, when a replay came to the same one. Raises Diverged naming the field.

    What may differ: the memory's version, since what was in the journal then is published now; what the registry has
    learnt of models.
    """
    then, again = asdict(kept), asdict(found)
    for name in ("session", "as_of", "market", "tools", "prompt", "skills", "journal", "end", "answer"):
        if then[name] != again[name]:
            raise Diverged("receipt", 0, name, f"{again[name]!r} where it was {then[name]!r}")
    return kept
