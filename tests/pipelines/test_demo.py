"""`pitlake demo`: a lake of public figures, a question with two answers, and suggested commands."""

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from pipelines.demo import story
from pipelines.demo.lake import built
from pitlake import cli, connect, walk
from pitlake.errors import BadInput, IsolationUnavailable
from pitlake.lake import Lake
from tests.cli.conftest import ROOT

QUARTER = "SELECT value FROM macro_observations WHERE observation_date = DATE '2014-01-01'"
EPS = """
    SELECT value_number FROM sec_facts WHERE cik = '0001045810' AND concept = 'us-gaap:EarningsPerShareDiluted'
      AND period_start = DATE '2023-01-30' AND period_end = DATE '2024-01-28'
"""
LOSS = """
    SELECT value_number FROM sec_facts WHERE cik = '0001640147' AND concept = 'us-gaap:ComprehensiveIncomeNetOfTax'
      AND period_start = DATE '2022-02-01' AND period_end = DATE '2023-01-31'
"""
# Figures published by bea.gov in 2014, and in two 10-Ks each of NVIDIA and Snowflake.
PUBLISHED = [
    ("2014-04-30T08:29:59-04:00", QUARTER, []),
    ("2014-04-30T08:30:00-04:00", QUARTER, [(17149.6,)]),
    ("2014-05-29T08:30:00-04:00", QUARTER, [(17101.3,)]),
    ("2014-06-25T08:30:00-04:00", QUARTER, [(17016.0,)]),
    ("2014-07-30T08:30:00-04:00", QUARTER, [(17044.0,)]),
    ("2023-03-30T16:00:00-04:00", LOSS, [(-819_512_000.0,)]),
    ("2024-02-21T16:00:00-05:00", EPS, []),
    ("2024-02-22T16:00:00-05:00", EPS, [(11.93,)]),
    ("2024-03-27T16:00:00-04:00", LOSS, [(-818_691_000.0,)]),
    ("2025-02-27T16:00:00-05:00", EPS, [(1.19,)]),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return built(tmp_path_factory.mktemp("demo") / "lake", lambda _: None)


def test_the_demos_figures_are_those_published_at_the_time(lake):
    instants, questions, _ = zip(*PUBLISHED, strict=True)
    read = ["macro_observations", "sec_facts"]
    sessions = walk(instants, lake=lake, isolation="in_process", datasets=read)
    answered = [session.sql(question).rows() for session, question in zip(sessions, questions, strict=True)]
    assert answered == [rows for *_, rows in PUBLISHED]


def test_the_demo_lake_has_no_gaps(lake):
    with connect(lake=lake, open_mode=True, isolation="in_process") as session:
        assert session.sql("SELECT dataset, reason FROM gaps").rows() == []


def test_a_second_start_reuses_the_demo_lake(lake):
    message = []
    assert built(lake.root, message.append).head() == lake.head()
    assert message == []


def test_a_build_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.demo.lake.SCOPES", {"none": None})
    with pytest.raises(Exception, match="no feed 'none'"):
        built(tmp_path / "lake", lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_the_bundled_answers_are_small():
    answers = Path(str(files("pipelines.demo") / "answers"))
    assert sum(path.stat().st_size for path in answers.rglob("*.json")) < 5 << 20


def test_the_demo_shows_both_answers_and_its_suggested_commands_work(lake, capfd):
    assert cli.invoke(["demo", "--into", str(lake.root)]) == 0
    answers, _, commands = capfd.readouterr().out.partition("Next:\n")
    assert max(map(len, answers.splitlines())) <= 80
    assert [line.split()[3] for line in answers.splitlines() if line.startswith("  as of")] == ["6.29", "9.08"]
    typed, _, web = commands.rpartition("\n  # ")
    assert web.endswith("pitlake demo --web\n")
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    message = subprocess.run(["sh", "-ec", typed], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert "sec_facts" in message.stdout
    assert "17149.6" in message.stdout


def test_a_lake_that_is_not_the_demos_is_refused(tmp_path):
    other = Lake(tmp_path / "own")
    other.start()
    with pytest.raises(BadInput, match=r"--into: .*own is not a lake of the demo; name a folder that does not exist"):
        story.answers(other, print)


def test_without_process_isolation_the_demo_warns_and_still_answers(lake, monkeypatch):
    message = []

    def unsealed(as_of, *, isolation="process", **settings):
        if isolation == "process":
            raise IsolationUnavailable("no Landlock")
        return connect(as_of, isolation=isolation, **settings)

    monkeypatch.setattr(story, "connect", unsealed)
    assert "9.08" in story.answers(lake, message.append)
    assert "no Landlock" in message[0]
