"""Tests a skill change: repeats decisions made after its lessons with the change, and compares the outcomes."""

import shutil
import tempfile
from pathlib import Path

from forge.agent.agent import Agent
from forge.agent.fork import ForkChange, fork
from forge.core.skill_loader import SkillLoader
from forge.evolution.paired import Pair, Trial, trial
from forge.evolution.revisions import apply
from forge.model import NoModel
from forge.records import KINDS, Proposal
from forge.tracking.settlement import ANSWERED, forecasts, settlements, whole_memory

EVEN = 0.5
"""A forecast with at least this confidence counts as a prediction that the rule holds."""


async def run_trial(agent: Agent, proposal: Proposal) -> Trial:
    """Test a proposal: repeat each settled forecast that was made after its last lesson with the change.

    A forecast counts as wrong if the repeated decision does not ask its question. Raises NoModel, BadInput.
    """
    remembered = whole_memory(agent.memory, agent.memory.journal.clock.now())
    lessons = [row for lesson in proposal.links if (row := remembered.newest(KINDS["pk"].path(lesson)))]
    after = max(remembered.written_at(row) for row in lessons)
    decision_of = {(forecast.view.id, forecast.question): forecast.decision for forecast in forecasts(remembered)}
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        place, own = SkillLoader(agent.skills).meta(proposal.skill).path, Path(folder) / "skills"
        if agent.skills and agent.skills.is_dir():
            shutil.copytree(agent.skills, own)
        apply(place, own, proposal.file, f"{proposal.body}\n", proposal.sha256)
        for settlement in settlements(remembered):
            decision = decision_of.get((settlement.view, settlement.question), "")
            if (
                settlement.status not in ANSWERED
                or settlement.restates
                or settlement.stated_at <= after
                or not agent.tape.receipt(decision)
            ):
                continue
            forked = await fork(agent, decision, ForkChange(skills=own))
            if forked.answer is None:
                raise NoModel(
                    "model",
                    forked.differences[-1].change,
                    "configure a model for every role; `pitlake forge doctor` shows which are missing",
                )
            again = next(
                (forecast.view.confidence for forecast in forked.forecasts if forecast.question == settlement.question),
                None,
            )
            came = settlement.status == "came_true"
            right = again is not None and (again >= EVEN) == came
            pairs.append(Pair(settlement.category, (settlement.probability >= EVEN) == came, right))
    return trial(pairs)
