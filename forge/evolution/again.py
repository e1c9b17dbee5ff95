"""The decisions a change is tested on: those after its lessons, made again with it, each judged by what came true."""

import shutil
import tempfile
from pathlib import Path

from forge.agent.agent import Agent
from forge.agent.fork import Change, fork
from forge.core.skill_loader import SkillLoader
from forge.evolution.paired import Pair, Trial, trial
from forge.evolution.revisions import apply
from forge.model import NoModel
from forge.records import KINDS, Proposal
from forge.tracking.settlement import ANSWERED, forecasts, hydrated, settlements

EVEN = 0.5
"""A forecast at least so sure counts as a yes."""


async def tried(agent: Agent, proposal: Proposal) -> Trial:
    """Test a proposal: each forecast made after the last of its lessons and settled, made again with the change.

    One whose question is not asked again counts as wrong. Raises NoModel where a model has to be asked, BadInput.
    """
    known = hydrated(agent.memory, agent.memory.journal.clock.now())
    lessons = [row for one in proposal.links if (row := known.newest(KINDS["pk"].path(one)))]
    after = max(known.written_at(row) for row in lessons)
    said = {(one.view.id, one.question): one.decision for one in forecasts(known)}
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        place, own = SkillLoader(agent.skills).meta(proposal.skill).path, Path(folder) / "skills"
        if agent.skills and agent.skills.is_dir():
            shutil.copytree(agent.skills, own)
        apply(place, own, proposal.file, f"{proposal.body}\n", proposal.sha256)
        for one in settlements(known):
            decision = said.get((one.view, one.question), "")
            if one.status not in ANSWERED or one.restates or one.stated_at <= after or not agent.tape.receipt(decision):
                continue
            found = await fork(agent, decision, Change(skills=own))
            if found.answer is None:
                raise NoModel("model", found.differences[-1].change, "name one for each role: pitlake forge doctor")
            again = next((told.view.confidence for told in found.forecasts if told.question == one.question), None)
            came = one.status == "came_true"
            right = again is not None and (again >= EVEN) == came
            pairs.append(Pair(one.category, (one.probability >= EVEN) == came, right))
    return trial(pairs)
