"""The scripted demo: each act is in memory and on tape, it takes less than a minute, and it cannot be faked."""

import json
import re
import time
from contextlib import closing

import pytest

import forge.demo.story as story
from forge.core.clock import Simulated
from forge.core.tape import Tape
from forge.demo import play
from forge.memory import Memory
from forge.records import KINDS, parse
from forge.web import room
from pitlake.cli import invoke
from pitlake.errors import PitlakeError
from pitlake.lake.lake import Lake
from sample.outside import REVISED
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp
from tests.forge.world import turn
from tests.web.browsing import BASE, TOKEN, browsing

VINTAGES = (("2014-04-30", REVISED.answer_before), ("2014-05-29", REVISED.answer_after), ("2014-06-25", 17_016.0))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("story")
    put_rows(Lake(home / "lake"), "macro_observations", *(gdp(day, value) for day, value in VINTAGES))
    return home


@pytest.fixture(scope="module")
def demo_run(home):
    lines, started = [], time.monotonic()
    last = play(home, Lake(home / "lake"), lines.append)
    assert time.monotonic() - started <= 60
    return last, "\n".join(lines)


@pytest.fixture(scope="module")
def memory(home, demo_run):
    with closing(Memory(home / "forge", clock=Simulated("demo", story.JUDGED))) as outcome:
        yield outcome


def records(memory, kind):
    existing = turn(memory, at=memory.read_instant(memory.journal.clock.now())).remembered
    rows = {path: existing.all(path) for path in existing.paths(KINDS[kind].folder)}
    return {path[-6:-3].strip("-"): [parse(KINDS[kind], row.content) for row in of] for path, of in rows.items()}


def test_an_analyst_fails_and_is_retried_and_the_synthesis_builds_on_the_retry(home, demo_run):
    tape = Tape(home / "forge-tape.sqlite")
    ends = {
        step.lane: json.loads(step.answer) for step in tape.steps(tape.decisions()[0]) if step.lane.startswith("end ")
    }
    assert {lane: each["status"] for lane, each in ends.items()} == {
        "end growth": "ok", "end rates": "failed", "end rates-2": "ok", "end synthesis": "ok",
    }  # fmt: skip
    assert ends["end synthesis"]["used"] == ["growth", "rates-2"]
    assert ends["end synthesis"]["summary"] == ("The newest estimate is 17,149.6, +60.0 on the quarter before.")


def test_the_demo_writes_the_records_of_its_story(memory, demo_run):
    views = [(each.status, each.confidence) for each in records(memory, "views")["001"]]
    assert views == [("active", 0.8), ("active", 0.5), ("invalidated", 0.0)]
    expressions = records(memory, "expressions")
    assert [each.status for each in expressions["001"]] == ["proposed", "active", "review_required"]
    assert {each.max_loss_pct for each in expressions["001"]} == {2.0}
    assert [each.status for each in expressions["002"]] == ["proposed", "rejected"]
    (counterfactual,) = records(memory, "counterfactuals")["001"]
    assert (counterfactual.decision_type, counterfactual.status) == ("rejected_expression", "tracking")
    (review,) = records(memory, "reviews")["001"]
    assert (review.subject, review.verdict) == ("/memory/expressions/E-001.md", "approve")
    settled = [each for of in records(memory, "settlements").values() for each in of]
    assert [(each.status, each.value) for each in settled] == [("failed", "17016.0")]


def test_the_demos_output_matches_what_happened(demo_run):
    _, text = demo_run
    for line in (
        "It shows that the parts work together, not good judgement.",
        "    LEDGER: 1 ok, 1 failed (rates: failed), 0 running, 0 never collected",
        "    [hard] max_single_risk: 8 (limit: 5)",
        "  E-001 waits: the review says approve",
        "  E-001 active: short ten-year note futures, loss 2 %",
        "  CF-001: reason: too many of our positions depend on it",
        "  V-001 invalidated, 0%: The newest estimate is 17,016.0, -73.6 on the quarter before.",
        "  E-001 review_required: short ten-year note futures, loss 2 %",
        "  V-001 failed: value >= 17089.6 by 2014-06-30, and it is 17016.0",
        "  from the tape alone: 3 decisions, 58 steps, 0 differences",
        "  with the lake queried again: 3 decisions, 58 steps, 0 differences",
        "  a tool's result altered on a copy of the tape: step 2 of agent (tool) differs: answer of fetch: ",
    ):
        assert line in text


def test_the_desk_shows_the_demos_memory_read_only(home, demo_run, memory, monkeypatch):
    monkeypatch.setenv("FORGE_LAKE", str(memory.lake.root))
    before = memory.journal.head()
    with browsing(home / "lake", rooms=(room,)) as client:
        desk = client.get("/desk").text
        assert re.findall(r">(V-001|E-001|E-002)</a></th>", desk) == ["V-001", "E-001", "E-002"]
        assert "backtest demo, read-only" in desk
        decisions = re.findall(r"/desk/d/([\w-]+)", desk)
        assert set(decisions) == set(Tape(home / "forge-tape.sqlite").decisions())
        paths = ("ledger", "approvals", "calibration", "skills", "v/V-001", "e/E-001", f"d/{decisions[0]}")
        assert [client.get(f"/desk/{path}").status_code for path in paths] == [200] * len(paths)
        waiting = client.get("/desk/approvals").text
        assert '<form method="post"' not in waiting
        (display,) = re.findall(r"<code>(\w{64})</code>", waiting)[:1]
        unlocked = {"origin": BASE, "cookie": f"pitlake_token={TOKEN}"}
        refused = client.post("/desk/e/E-001/reject", data={"sha256": display, "reason": "no"}, headers=unlocked)
    assert refused.status_code == 409
    assert "of simulated:demo is read-only" in refused.text
    assert memory.journal.head() == before


def test_the_demos_decision_replays_without_differences(home, demo_run, monkeypatch, capfd):
    monkeypatch.setenv("FORGE_LAKE", str(home / "forge-simulated-demo"))
    monkeypatch.setenv("PITLAKE_LAKE", str(home / "lake"))
    assert invoke(("forge", "replay", demo_run[0])) == 0
    output = capfd.readouterr()
    assert "17,016.0" in output.out
    assert "0 differences" in output.err


def test_the_demo_fails_if_a_replay_misses_an_altered_tape(home, demo_run, memory, monkeypatch):
    monkeypatch.setattr(story, "ALTERED", "UPDATE steps SET answer = answer WHERE decision = ?")
    tape, lake = Tape(home / "forge-tape.sqlite"), Lake(home / "lake")
    with pytest.raises(PitlakeError, match="an altered tape replayed without a difference"):
        story._Story(memory, tape, lake, print)._alter(demo_run[0])


def test_the_demo_refuses_a_folder_in_use_and_a_lake_without_its_figure(home, demo_run, tmp_path, capsys):
    assert invoke(("forge", "demo", "--lake", str(home / "lake"), "--into", str(home))) == 2
    assert "already contains decisions" in capsys.readouterr().err
    assert invoke(("forge", "demo", "--lake", str(tmp_path / "none"), "--into", str(tmp_path / "into"))) == 2
    assert "has no GDP for 2014" in capsys.readouterr().err
