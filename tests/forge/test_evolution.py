"""Changes to skills: agreeing lessons, a trial that harmful changes fail, the PM's approval, and rollbacks. Ids: M1."""

import asyncio
import random
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import pytest
from click.testing import CliRunner

from forge import cli
from forge.agent.agent import Agent
from forge.core.clock import Clock
from forge.core.skill_loader import OURS, SkillLoader
from forge.core.tape import Tape
from forge.evolution.approve import approve, reject, rollback
from forge.evolution.paired import Pair, trial
from forge.evolution.propose import claims, pending, record_test
from forge.evolution.proposing import propose
from forge.evolution.revisions import apply, folder_hash, patched_hash, undo
from forge.memory import Memory
from forge.model import NoModel
from forge.records import ProcessKnowledge
from forge.tracking.settlement import whole_memory
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput
from tests.forge.test_untaken import standing
from tests.forge.world import turn, wrote

START = datetime(2024, 1, 2, 9, tzinfo=NEW_YORK)
CLOCK = "lessons", START
CLAIM = "Ask for the revision before the level."
LESSON = ProcessKnowledge(id="new", skill=("view_validation",), category="macro_regime", weight=0.5, claim=CLAIM)
DAYS = (0, 1, 7, 8, 14)


def learnt(memory, days=DAYS, **changed):
    for number, day in enumerate(days):
        memory.journal.clock.move(max(memory.journal.clock.now(), START + timedelta(days=day)))
        call = f"pk{memory.journal.head()[0]}{number}"
        wrote(standing(memory), "/memory/pk/new.md", replace(LESSON, **changed), call)


def write_daily(memory, display):
    """Write a lesson on each of DAYS, then set the clock in `display` to the next day."""
    for number, day in enumerate(DAYS):
        display[0] = START + timedelta(days=day)
        wrote(turn(memory, "s"), "/memory/pk/new.md", LESSON, f"pk{number}")
    display[0] += timedelta(days=1)


def no_model(role):
    raise NoModel("model", f"none is configured for the role {role}", "set one")


def proposed(memory, own):
    """Make proposals without a model; return the new ones."""
    agent = Agent(memory, Tape(memory.lake.root.parent / "tape.sqlite"), no_model, skills=own)
    return asyncio.run(propose(agent))


def claim_texts(memory):
    return [(each.skill, each.lessons) for each in claims(whole_memory(memory, memory.journal.clock.now()))]


def test_m1_five_agreeing_lessons_over_three_weeks_make_a_single_proposal(memory, tmp_path):
    learnt(memory, DAYS[:4])
    assert claim_texts(memory) == []
    learnt(memory, DAYS[4:], claim=CLAIM.upper())
    assert claim_texts(memory) == [("view-validation", ("PK-001", "PK-002", "PK-003", "PK-004", "PK-005"))]
    (outcome,) = proposed(memory, tmp_path / "none")
    assert outcome.body.endswith(f"## Lessons\n\n- {CLAIM} (PK-001, PK-002, PK-003, PK-004, PK-005)")
    assert (outcome.id, outcome.status, outcome.tested) == ("SEP-001", "pending", "not tested: no model is configured")
    assert proposed(memory, tmp_path / "none") == []


def test_m1_more_lessons_for_a_claim_make_no_second_proposal_until_a_rejection(memory, tmp_path):
    learnt(memory)
    (outcome,) = proposed(memory, tmp_path / "none")
    learnt(memory, (21,))
    assert proposed(memory, tmp_path / "none") == []
    reject(memory, outcome.id, outcome.sha256, "pm", "too narrow")
    (anew,) = proposed(memory, tmp_path / "none")
    assert (anew.id, anew.links) == ("SEP-002", (*outcome.links, "PK-006"))


def test_m1_paraphrased_lessons_form_a_single_claim_and_unrelated_lessons_form_none(memory):
    others = (
        "Stops were set too close in illiquid names.",
        "Do not size trades by conviction alone.",
        "Check the spread before the news.",
        "Earnings calls move options before the open.",
        "Always fetch the yield curve when rates move.",
    )
    paraphrases = (
        CLAIM,
        "Look at how a figure was revised before you use its level.",
        "Check revisions first, then the level of the figure.",
        "Before the level of a series, ask what its revision was.",
        "Revisions should be checked before the level is read.",
        "The level of a figure means little until its revision was asked for.",
    )
    for day, claim in zip((0, 1, 7, 8, 14, 15), paraphrases, strict=True):
        learnt(memory, (day,), claim=claim)
    for day, claim in zip(DAYS, others, strict=True):
        learnt(memory, (15 + day,), claim=claim)
    assert claim_texts(memory) == [("view-validation", tuple(f"PK-{number:03d}" for number in range(1, 7)))]
    learnt(memory, (30,), claim="Ask for a revision before any level.", stance="opposes")
    assert claim_texts(memory) == []


def test_m1_a_proposal_is_rejected_by_its_hash_with_a_reason_and_not_repeated(memory, tmp_path):
    learnt(memory)
    (outcome,) = proposed(memory, tmp_path / "none")
    for sha256, reason, problem in (("0" * 64, "no", "a different hash"), (outcome.sha256, " ", "reason: is empty")):
        with pytest.raises(BadInput, match=problem):
            reject(memory, outcome.id, sha256, "pm", reason)
    assert reject(memory, outcome.id, outcome.sha256, "pm", "too narrow").status == "rejected"
    assert pending(memory) == []
    assert proposed(memory, tmp_path / "none") == []
    with pytest.raises(BadInput, match="is rejected, not pending"):
        approve(memory, outcome.id, outcome.sha256, "pm", tmp_path / "own", "anyway")


@pytest.mark.parametrize(
    "changed", [{"stance": "opposes"}, {"stance": "opposes", "weight": 0.1}], ids=["one against", "a weak one against"]
)
def test_m1_an_opposing_lesson_blocks_a_claim(memory, changed):
    learnt(memory)
    learnt(memory, (15,), **changed)
    assert claim_texts(memory) == []


@pytest.mark.parametrize(
    ("days", "changed"),
    [((0, 1, 2, 7, 8), {}), (DAYS, {"weight": 0.3}), (DAYS, {"status": "retired"}), (DAYS, {"claim": ""})],
    ids=["two weeks", "weak", "retired", "no claim"],
)
def test_m1_weak_retired_empty_or_too_close_lessons_make_no_claim(memory, days, changed):
    learnt(memory, days, **changed)
    assert claim_texts(memory) == []


def test_m1_applying_a_proposal_needs_its_exact_hash_and_a_passed_trial_or_a_reason(memory, tmp_path):
    learnt(memory)
    own = tmp_path / "skills"
    (outcome,) = proposed(memory, own)
    for sha256, reason, problem in (
        (outcome.sha256[:-1] + "x", "because", "a different hash"),
        (outcome.sha256, "", "not tested: no model is configured; give --untested"),
        (outcome.sha256, " ", "not tested: no model is configured; give --untested"),
    ):
        with pytest.raises(BadInput, match=problem):
            approve(memory, outcome.id, sha256, "pm", own, reason)
    assert not own.exists()
    failed = record_test(memory, outcome, str(trial([Pair("thematic", True, False)])))
    with pytest.raises(BadInput, match="SEP-001 is failed: 1 pairs, 0 better, 1 worse"):
        approve(memory, failed.id, outcome.sha256, "pm", own)
    record_test(memory, outcome, str(trial([Pair("thematic", False, True)] * 9)))
    assert approve(memory, outcome.id, outcome.sha256, "pm", own).status == "applied"
    assert folder_hash(own / "view-validation") == outcome.sha256
    assert CLAIM in SkillLoader(own).load("view-validation").prompt
    assert pending(memory) == []
    with pytest.raises(BadInput, match="is applied, not pending"):
        approve(memory, outcome.id, outcome.sha256, "pm", own)


def test_m1_approving_a_proposal_for_a_since_changed_skill_is_refused(memory, tmp_path):
    learnt(memory)
    own, place = tmp_path / "skills", SkillLoader().meta("view-validation").path
    (outcome,) = proposed(memory, own)
    other = (place / "SKILL.md").read_text() + "\nOther.\n"
    apply(place, own, "SKILL.md", other, patched_hash(place, "SKILL.md", other))
    with pytest.raises(BadInput, match="has changed since SEP-001 was proposed"):
        approve(memory, outcome.id, outcome.sha256, "pm", own, "because")


def test_m1_skill_changes_are_undone_revision_by_revision(tmp_path):
    own, place = tmp_path / "skills", OURS / "rv-analysis"
    hashes = []
    for number in range(2):
        at = SkillLoader(own).meta("rv-analysis").path
        text = (at / "SKILL.md").read_text() + f"\nChange {number}.\n"
        hashes.append(patched_hash(at, "SKILL.md", text))
        apply(at, own, "SKILL.md", text, hashes[-1])
    assert folder_hash(own / "rv-analysis") == hashes[1]
    assert undo(own, "rv-analysis") == hashes[0]
    assert undo(own, "rv-analysis") == "none"
    assert SkillLoader(own).meta("rv-analysis").path == place
    with pytest.raises(BadInput, match="has no earlier revision"):
        undo(own, "rv-analysis")


@pytest.mark.parametrize("name", ["..", "", ".", "../skills", "rv-analysis/..", "nope"])
def test_m1_a_rollback_with_an_invalid_skill_name_removes_nothing(memory, tmp_path, name):
    home = tmp_path / "home"
    own, place = home / "skills", OURS / "rv-analysis"
    text = (place / "SKILL.md").read_text() + "\nA change.\n"
    apply(place, own, "SKILL.md", text, patched_hash(place, "SKILL.md", text))
    (home / "journal.sqlite").write_text("all of memory")
    before = sorted(home.rglob("*"))
    for undone in (partial(undo, own, name), partial(rollback, memory, name, "pm", own)):
        with pytest.raises(BadInput, match="skill: "):
            undone()
        assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("../x.md", "x", "is outside"),
        ("SKILL.md", "---\nname: Wrong Name\ndescription: x\n---\n", "would not be valid"),
    ],
)
def test_m1_a_patch_that_breaks_the_rules_changes_nothing(tmp_path, file, text, problem):
    with pytest.raises(BadInput, match=problem):
        apply(OURS / "rv-analysis", tmp_path / "skills", file, text, "")
    assert not (tmp_path / "skills").exists()


def promoted(rng, without, changed):
    """Return whether a change passes its trial on 40 to 200 decisions. without, changed: the shares that are right."""
    kinds = ("macro_regime", "thematic", "event_driven")
    count = rng.randint(40, 200)
    return trial(Pair(rng.choice(kinds), rng.random() < without, rng.random() < changed) for _ in range(count)).passed


def test_m1_useless_changes_are_promoted_in_at_most_1_percent_and_good_changes_often():
    rng = random.Random("nulls")
    idle = sum(promoted(rng, 0.6, 0.6) for _ in range(1000))
    harmful = sum(promoted(rng, 0.6, 0.5) for _ in range(1000))
    assert max(idle, harmful) <= 10
    assert sum(promoted(rng, 0.5, 0.85) for _ in range(200)) > 150


def test_m1_the_trial_uses_mcnemars_test_and_names_categories_that_got_worse():
    reply = trial([Pair("a", False, True)] * 9 + [Pair("b", True, False)] + [Pair("a", True, True)] * 5)
    assert (reply.pairs, reply.better, reply.worse, reply.worse_in) == (15, 9, 1, ("b",))
    assert reply.p == pytest.approx(11 / 1024)
    assert str(reply) == "failed: 15 pairs, 9 better, 1 worse, p = 0.0107, worse in b"
    assert trial([]).p == 1.0


def test_m1_the_skills_commands_show_apply_and_roll_back_a_patch(tmp_path, monkeypatch):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    clock = [START]
    with closing(Memory(tmp_path / "forge", clock=Clock("live", lambda: clock[0]))) as memory:
        write_daily(memory, clock)

    def typed(*words):
        return CliRunner().invoke(cli.command, ["skills", *words])

    assert typed("propose").stdout.startswith("SEP-001 view-validation: PK-001")
    output = typed("proposals").stdout
    assert f"+- {CLAIM} (PK-001" in output
    sha256 = output.split("hash: ")[1].strip()
    assert "give --untested" in str(typed("approve", "SEP-001", "--hash", sha256).exception)
    assert typed("approve", "SEP-001", "--hash", sha256, "--untested", "it is plain").stdout.startswith(
        "SEP-001 is applied"
    )
    assert typed("rollback", "view-validation").stdout == "view-validation is the built-in one\n"
