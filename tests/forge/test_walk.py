"""Walk-forward runs decide on schedule, see nothing later, and survive kills without differences. Ids: L1."""

import json
import pickle
import re
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from forge import cli
from forge.cli import walk as cli_walk
from forge.core.config import from_mapping
from forge.core.skill_loader import SkillLoader
from forge.desk import BACKTEST_CAPITAL, desk
from forge.evolution.propose import proposals
from forge.memory.fills import fills
from forge.model import Answer, Call, ModelFailed
from forge.model.scripted import Scripted
from forge.providers.base import At
from forge.records import KINDS, render
from forge.tracking.settlement import settlements, whole_memory
from forge.tracking.valuation import value_account
from forge.walk.plan import Walk
from forge.walk.report import EXPOSURES, page
from forge.walk.run import Ground, run, run_all
from forge.web.day import Day
from pitlake import clock
from pitlake.charts import number_text
from pitlake.clock import new_york_day
from pitlake.errors import BadInput
from pitlake.exchange import session
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_evolution import CLAIM, LESSON
from tests.forge.walks import DAYS, SINCE, canaries, of_canaries, scripted, transcript, world


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return world(tmp_path_factory.mktemp("walk") / "lake")


@pytest.fixture(scope="module")
def walked(lake, tmp_path_factory):
    """An undisturbed run: its ground, its result and its progress messages."""
    ground, reply = Ground(tmp_path_factory.mktemp("undisturbed"), lake, scripted), []
    return ground, run(DAYS, ground, reply.append), reply


def test_a_walks_occasions_match_the_schedules():
    year = Walk(name="year", since=date(2023, 7, 1), until=date(2024, 6, 30)).occasions()
    question = [each for _, each in year]
    assert (question.count("morning_review"), question.count("end_of_day"), question.count("weekly_retrospective")) == (
        250,
        250,
        52,
    )
    hours = {(at.hour, at.minute) for at, each in year if each == "morning_review"}
    assert hours == {(11, 0), (12, 0)}
    assert [each for at, each in year if at.date() == date(2023, 11, 24)] == [
        "morning_review",
        "end_of_day",
        "weekly_retrospective",
    ]
    quarters = Walk(name="year", since=date(2023, 7, 1), until=date(2024, 6, 30)).split("quarter")
    assert [(each.name, each.since, each.until) for each in quarters][1:3] == [
        ("year-2023-q04", date(2023, 10, 1), date(2023, 12, 31)),
        ("year-2024-q01", date(2024, 1, 1), date(2024, 3, 31)),
    ]


@pytest.mark.parametrize(
    ("changed", "field"),
    [({"name": "A b"}, "run"), ({"triggers": ("noon",)}, "triggers"), ({"until": date(2014, 5, 4)}, "from")],
)
def test_an_invalid_walk_is_refused_with_its_field(changed, field):
    with pytest.raises(BadInput) as refused:
        replace(DAYS, **changed)
    assert refused.value.field == field


def test_a_walk_decides_settles_and_trades_on_a_memory_of_its_own(walked):
    ground, result, reply = walked
    assert (result.decisions, result.ends) == (7, {"answered": 7})
    assert reply[-1].startswith("days 7/7 D-weekly_retrospective-20140509T210000Z: answered, ")
    with_clock = ground.memory(DAYS, DAYS.ends)
    existing = whole_memory(with_clock, DAYS.ends)
    told_of = page([DAYS], ground)
    counted = {name: re.search(f'row">{name}<.*?>(\\d+)<.*?>(\\d+)<', told_of).groups() for name in EXPOSURES}
    assert counted == {"clean": ("0", "0"), "partial": ("0", "0"), "exposed": ("7", "3")}
    assert f"spent: {result.spent.calls} requests, {result.spent.tokens:,} tokens, price unknown</p>" in told_of
    assert "D-end_of_day-20140508T203000Z" in told_of
    kinds = {name: len(list(existing.paths(kind.folder))) for name, kind in KINDS.items()}
    with_clock.close()
    first = [each for each in settlements(existing) if not each.restates]
    assert (kinds["views"], len(first), kinds["expressions"], kinds["approvals"]) == (3, 3, 3, 1)
    assert (kinds["outcomes"], {each.status for each in first}) == (1, {"came_true", "failed"})


def test_the_page_shows_the_account_the_benchmark_and_each_decision_with_its_replay(lake, tmp_path):
    settings = from_mapping({"account": {"capital": 100_000, "costs_bp": 10}})
    ground = Ground(tmp_path, lake, scripted, settings)
    run(DAYS, ground)
    text = page([DAYS], ground)
    figures = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]*)</dd>", text))
    with closing(ground.memory(DAYS, DAYS.ends)) as memory:
        existing = whole_memory(memory, DAYS.ends)
        valued = value_account(existing, At(as_of=DAYS.ends, lake=lake)).account
    assert figures["Net asset value"].startswith(f"{valued.nav:,.2f} USD")
    assert figures["Costs"] == f"{sum(holding.fees for holding in valued.holdings):,.2f} USD"
    highest = worst = 0.0
    for _, nav in [(None, 100_000), *valued.curve]:
        highest = max(highest, nav)
        worst = max(worst, 100 * (1 - nav / highest))
    assert figures["Deepest drawdown"] == f"{worst:.3f} %"
    assert figures["Benchmark (SPY, without dividends)"] == "not in the lake"
    assert text.count("<svg") == 2
    open_table = text.split("Open position</th>")[1].split("</table>")[0] if valued.positions else ""
    assert re.findall(r'row">([^<]+)</th>', open_table) == [holding.instrument for holding in valued.positions]
    assert ("No position is open at the end." in text) == (not valued.positions)
    assert "pitlake forge replay D-end_of_day-20140508T203000Z --run days" in text
    assert "Morning review — 2014-05-07." in text
    assert "Done after 3 steps" in text


def test_equity_and_benchmark_agree_with_raw_closes_and_cash_flows(tmp_path):
    """SPY splits two for one on the second day. The benchmark starts at the close before the run."""
    first, second, third = (date(2014, 5, day) for day in (7, 8, 9))
    index = {date(2014, 5, 5): 150.0, date(2014, 5, 6): 180.0, first: 184.0, second: 91.0, third: 93.6}
    lake = world(tmp_path / "lake", index=index)
    split = {"split_id": "s", "ticker": "SPY", "execution_date": second, "split_from": 1.0, "split_to": 2.0}
    put_rows(Lake(lake), "splits", split | {"available_at": session(second).close})
    settings = from_mapping({"account": {"capital": 100_000, "costs_bp": 10}})
    ground = Ground(tmp_path, lake, scripted, settings)
    run(DAYS, ground)
    text = page([DAYS], ground)
    figures = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]*)</dd>", text))
    assert figures["Benchmark (SPY, without dividends)"] == f"{(93.6 * 2 / 180 - 1) * 100:+.3f} %"
    with closing(ground.memory(DAYS, DAYS.ends)) as memory:
        booked = fills(whole_memory(memory, DAYS.ends))
    start = date(2014, 4, 27)
    closes = {day: 100.0 + (day - start).days % 7 for day in (first, second, third)}
    navs = []
    for day, close in closes.items():  # The account opens on the first day.
        traded = [fill for fill in booked if new_york_day(fill.filled_at) <= day]
        navs.append(100_000 + sum(fill.quantity * (close - fill.price) - fill.fees for fill in traded))
    assert figures["Net asset value"] == f"{navs[-1]:,.2f} USD, {(navs[-1] / 100_000 - 1) * 100:+.3f} % of the capital"
    drawn = re.search(r"Net asset value in percent of the capital from [^<]*", text)[0]
    shares = [nav / 1000 for nav in navs]
    described = f"first {number_text(shares[0])}, lowest {number_text(min(shares))}, highest {number_text(max(shares))}"
    assert f"{described}, last {number_text(shares[-1])}" in drawn
    assert len(booked) >= 1


def test_a_walk_reads_no_canary_from_after_its_instant(walked):
    ground = walked[0]
    decisions, seen, late = canaries(ground.place(DAYS))
    assert (decisions, late) == (7, [])
    assert seen > 100


@pytest.mark.parametrize("expected", [1, 1000, 10_000])
def test_the_canary_campaign_has_the_requested_number_of_decisions(expected):
    assert expected <= len(of_canaries(expected).occasions()) <= 1.05 * expected + 30


def test_lakes_that_differ_only_after_each_instant_give_one_transcript(walked, tmp_path):
    """Each decision queries a separate lake that ends at its instant, except for rows of a different future."""

    class Stopped(Exception):
        pass

    def stop(_):
        raise Stopped

    for number, (at, _) in enumerate(DAYS.occasions()):
        with pytest.raises(Stopped):
            run(DAYS, Ground(tmp_path / "walks", world(tmp_path / f"{number}", cut=at), scripted), stop)
    ground = Ground(tmp_path / "walks", world(tmp_path / "end", cut=DAYS.ends), scripted)
    run(DAYS, ground)
    assert transcript(ground.place(DAYS)) == transcript(walked[0].place(DAYS))


def test_parallel_runs_give_the_same_results_as_sequential_runs(lake, tmp_path):
    two = Walk(name="two", since=date(2014, 5, 30), until=date(2014, 6, 2), triggers=("morning", "weekly"))
    months = two.split("month")
    alone, beside = (
        run_all(months, Ground(tmp_path / f"{jobs}", lake, scripted), jobs, cli_walk.told) for jobs in (1, 2)
    )
    assert [(each.name, each.decisions) for each in beside] == [("two-2014-05", 2), ("two-2014-06", 1)]
    assert alone == beside
    for item in months:
        assert transcript(tmp_path / "1" / item.name) == transcript(tmp_path / "2" / item.name)


def test_the_ground_of_a_desks_runs_can_be_pickled(tmp_path, monkeypatch):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    ground = desk().ground(tmp_path / "lake")
    assert ground.config.account.capital == BACKTEST_CAPITAL
    sent = pickle.loads(pickle.dumps(ground))
    assert replace(sent, models=None) == replace(ground, models=None)
    assert sent.models.__self__.chosen == ground.models.__self__.chosen


@pytest.mark.long
def test_a_walk_killed_twice_ends_like_an_undisturbed_walk(walked, lake, tmp_path):
    command = [sys.executable, "-m", "tests.forge.walks", "--killed", str(tmp_path), str(lake)]
    ends = [subprocess.run(command, timeout=120, check=False).returncode for _ in range(3)]
    assert ends == [-signal.SIGKILL, -signal.SIGKILL, 0]
    assert transcript(tmp_path / "days") == transcript(walked[0].place(DAYS))


def test_a_walk_resumes_only_with_its_original_parameters(walked):
    ground = walked[0]
    before = json.dumps(transcript(ground.place(DAYS)))
    run(DAYS, replace(ground, models=None))
    assert json.dumps(transcript(ground.place(DAYS))) == before
    with pytest.raises(BadInput, match="until: the run days was started with a different value"):
        run(replace(DAYS, until=date(2014, 5, 12)), ground)


def test_a_masked_walk_shows_shifted_years_but_queries_the_lake_at_real_dates(walked, tmp_path):
    of_training = re.compile(r" [^.]*training data[^.]*\. Use nothing you remember from after this instant\.")
    ground = walked[0]
    masked = replace(DAYS, name="masked", masked=True, until=SINCE)
    read = []

    class Reading:
        id = "scripted:1"

        async def ask(self, request):
            read.append(str(request.canonical()))
            return await scripted("agent").ask(request)

    run(masked, replace(ground, folder=tmp_path, models=lambda role: Reading()))
    assert not [each for each in read if "2014-05" in each]
    assert [each for each in read if "2042-05-07" in each]
    masked_steps, steps = (
        json.dumps(transcript(place)["D-morning_review-20140507T110000Z"])
        for place in (tmp_path / "masked", ground.place(DAYS))
    )
    assert of_training.search(steps)
    assert masked_steps == of_training.sub("", steps)


def test_the_backtest_command_reports_progress_and_writes_the_page(lake, tmp_path, monkeypatch):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    command = ["backtest", "--from", "2014-05-09", "--to", "2014-05-09", "--triggers", "weekly", "--lake", str(lake)]
    monkeypatch.setattr("forge.model.routing.Routing.model", lambda routing, role: scripted(role))
    done = CliRunner().invoke(cli.command, command)
    assert "2014-05-09-to-2014-05-09 1/1 D-weekly_retrospective-20140509T210000Z: answered" in done.stderr
    assert done.stdout.startswith("2014-05-09-to-2014-05-09: 1 decisions (1 answered)\npage: ")
    assert (tmp_path / "forge-walks" / "2014-05-09-to-2014-05-09.html").read_text().startswith("<!doctype html>")


def test_a_decision_of_a_backtest_is_replayed_and_explained_on_the_command_line(lake, tmp_path, monkeypatch):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    question = replace(DAYS, name="spring", until=SINCE)
    (tmp_path / "forge.toml").write_text("[guardrails]\nmax_gross = 150\n")
    run(question, replace(desk().ground(lake), models=scripted))
    decision = "D-end_of_day-20140507T203000Z"

    def command(*arguments):
        return CliRunner().invoke(cli.command, arguments)

    replayed = command("replay", decision, "--run", "spring", "--lake", str(lake))
    assert (replayed.exit_code, replayed.stderr.splitlines()[-1]) == (0, "0 differences"), replayed.output
    live = command("replay", decision, "--run", "spring", "--live-tools", "--lake", str(lake))
    assert (live.exit_code, live.stderr.splitlines()[-1]) == (0, "0 differences"), live.output
    assert f"{decision} → E-001 (wrote)" in command("why", decision, "--run", "spring").stdout
    with_change = command(
        "fork", decision, "--run", "spring", "--step", "1", "--set", "answer=No.", "--lake", str(lake)
    )
    assert (with_change.exit_code, "No." in with_change.stdout) == (0, True), with_change.output
    assert "there is no memory 'sprin'" in str(command("replay", decision, "--run", "sprin").exception)


def test_the_desk_shows_the_decisions_of_a_backtest(walked, lake):
    ground, came, _ = walked
    with closing(Day.of(clock.now(), Lake(lake), str(ground.place(DAYS) / "memory-simulated-days"))) as day:
        display = day.decisions()
        assert (len(display), {each.trigger for each in display}) == (came.decisions, {"schedule"})
        assert day.brief().start == display[0]
        assert day.decision(display[0].name).answer.startswith("Done after")


def test_m1_a_walks_retrospective_leads_to_proposals_that_a_failure_only_delays(lake, tmp_path):
    """The model writes two lessons in its retrospective, then proposes what they say unless the model is down."""
    weeks = Walk(name="weeks", since=date(2014, 5, 2), until=date(2014, 5, 31), triggers=("weekly",))
    model, skills = SimpleNamespace(down=False, asked=0), SkillLoader().sha256()

    def answer(request):
        reply = [each for each in request.messages if not isinstance(each, str)]
        if request.role == "proposal":
            model.asked += 1
            if model.down:
                raise ModelFailed("it is down")
            why = f"{re.search('PK-[0-9]+', request.messages[0])[0]} says so."
            edit = {"file": "SKILL.md", "quote": "", "replacement": f"- {CLAIM}", "why": why}
            return Answer("Proposed.") if reply else Answer("", (Call("propose", edit, "p"),), "tools", "s", 100, 10)
        lesson = {"path": "/memory/pk/new.md", "content": render(LESSON)}
        if reply:
            return Answer("Done.")
        return Answer("", (Call("write", lesson, "a"), Call("write", lesson, "b")), "tools", "s", 100, 10)

    ground = Ground(tmp_path / "whole", lake, lambda role: Scripted(answer))
    came = run(weeks, ground)
    with closing(ground.memory(weeks, weeks.ends)) as memory:
        (outcome,) = proposals(whole_memory(memory, weeks.ends))
    assert (outcome.status, outcome.skill, outcome.author) == ("pending", "view-validation", "scripted:1")
    assert (model.asked, came.decisions, came.ends) == (2, 5, {"answered": 5})
    assert (SkillLoader().sha256(), ground.skills) == (skills, None)
    names = [name for name in ground.tape(weeks).decisions() if name.startswith("P-")]
    assert names == ["P-weekly_retrospective-20140523T210000Z"]
    model.down, broken = True, Ground(tmp_path / "broken", lake, ground.models)
    with pytest.raises(ModelFailed, match="it is down"):
        run(weeks, broken)
    model.down = False
    assert run(weeks, broken).decisions == 5
    assert transcript(broken.place(weeks)) == transcript(ground.place(weeks))
    question = model.asked
    run(weeks, broken)
    assert model.asked == question


@pytest.mark.parametrize("days", [0, 1, 30_000])
def test_a_walk_whose_last_day_is_not_over_is_refused(days):
    day = new_york_day(clock.now()) + timedelta(days=days)
    with pytest.raises(BadInput, match="to: is in the future"):
        Walk(name="later", since=SINCE, until=day)


def test_the_backtest_command_without_a_model_names_the_missing_role(tmp_path, monkeypatch):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    refused = CliRunner().invoke(cli.command, ["backtest", "--from", "2014-05-09", "--to", "2014-05-09"]).exception
    assert "none is configured for the role agent" in str(refused)
