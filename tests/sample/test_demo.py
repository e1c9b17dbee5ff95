"""The demo's output and errors on a small lake. tests/pipelines runs the whole demo."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from local_servers.server import GraphServer
from pitlake.cli.web import command as web
from pitlake.clock import instant
from pitlake.errors import PitlakeError
from pitlake.lake.lake import Lake
from pitlake.web.address import Address
from sample import demo
from sample.manifest import DEMO_QUESTION, DEMO_RESTATEMENT, Demonstration
from sample.progress import step
from tests.cli.conftest import AFTER, BEFORE, CREATED, article
from tests.kit import publish

COUNT = Demonstration(
    title="Articles",
    ticker="QBG",
    concept="",
    sql="SELECT count(*)::DOUBLE, NULL, coalesce(max(id), 'none') FROM news",
    before=BEFORE,
    after=AFTER,
    answer_before=0.0,
    answer_after=1.0,
    because="one was written",
)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("demo") / "lake")
    publish(lake, "news", [article(1, "Title", CREATED)], "run")
    return lake


def test_the_demo_shows_a_question_as_of_both_instants(lake, capsys):
    demo.show(lake, COUNT)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[3] for line in lines[2:4]] == ["0", "1"]
    assert "one was written" in lines[4]


def test_a_wrong_answer_fails_the_demo(lake):
    with pytest.raises(PitlakeError, match="manifest"):
        demo.show(lake, replace(COUNT, answer_after=2.0))


@pytest.mark.parametrize("question", [DEMO_QUESTION, DEMO_RESTATEMENT], ids=lambda question: question.ticker)
def test_the_two_answers_of_a_question_differ(question):
    assert question.before < question.after
    assert question.answer_before != question.answer_after


def test_the_dagster_home_of_the_demo_has_its_settings_and_no_telemetry(tmp_path, monkeypatch):
    monkeypatch.setenv("DAGSTER_HOME", "set by the demo")
    _, instance = demo.wiring(GraphServer("bolt://127.0.0.1:1", "neo4j"), tmp_path)
    with instance:
        assert instance.telemetry_enabled is False
        assert instance.root_directory == str(tmp_path / "dagster")
    assert (tmp_path / "dagster/dagster.yaml").read_bytes() == demo.SETTINGS.read_bytes()


def test_a_step_prints_its_progress_and_duration(capsys):
    with step("working", of=2) as tick:
        tick(1, "first")
    output = capsys.readouterr().err.splitlines()
    assert output[:2] == ["working …", "  1 of 2: first"]
    assert output[2].startswith("working: ")


def test_the_demo_ends_with_the_address_that_make_web_opens(tmp_path, capsys):
    demo.show_next_steps(tmp_path, "D-1")
    (reply,) = re.findall(r"make web  # opens (\S+)", capsys.readouterr().out.replace("\n", ""))
    (line,) = re.findall(r"pitlake web --lake \S+ (--as-of .*) --browse", Path("Makefile").read_text())
    _, as_of, _, ticker = line.split()
    port = next(option.default for option in web.params if option.name == "port")
    assert reply == f"http://127.0.0.1:{port}{Address(instant(as_of), ticker).url()}"
