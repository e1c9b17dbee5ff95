"""The command: one line, and results as JSON, Markdown and a page; what is recorded in the tree is such a result."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from asofbench import run
from asofbench.__main__ import main
from asofbench.generate import CLASSES, differences
from asofbench.page import page
from asofbench.report import markdown, results
from asofbench.systems import BY_NAME
from tests.every import every

HOME = Path(__file__).resolve().parents[2] / "asofbench"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    assert main(["--only", "knows all", "an instant late", "--worlds", "news-1", "--out", str(out)]) == 0
    return out


def test_a_run_writes_what_it_found(written):
    told = json.loads((written / "results.json").read_text())
    right, late = told["systems"]
    assert (right["caught"]["cases"], right["caught"]["share"]) == (right["cases"], 1.0)
    assert (late["withheld"]["cases"], late["leak"]["cases"]) == (late["cases"], 0)
    assert told["frozen"]
    assert (written / "results.md").read_text() == markdown(told)


def test_the_page_and_the_picture_are_whole(written):
    whole = (written / "results.html").read_text()
    assert "<title>AsOfBench: who sees the future?</title>" in whole
    assert not re.search(r"""(src|href)=["']|<script""", whole)
    picture = ET.fromstring((written / "picture.svg").read_text())
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {name.replace("_", " ") for name in CLASSES} <= set(texts)


def test_every_share_stands_with_its_interval(recorded):
    found = markdown(recorded)
    table = [line.split(" | ") for line in found.splitlines() if re.match(r"\|.*\d/928 \|$", line)]
    assert len(table) == len(recorded["systems"])
    interval = re.compile(r"\d+( of \d+)? \(\d+\.\d%; \d+\.\d%–\d+\.\d%\)")
    assert every(interval.fullmatch(cell) for row in table for cell in row[3:7])
    assert "Of 32 cases, none is 0.0% with 0.0%–10.7%, all are 100.0% with 89.3%–100.0%." in found
    rows = re.findall("<tr><th scope='row'.*?</tr>", page(recorded))
    assert every(len(re.findall(r"\d% \(\d+\.\d%–\d+\.\d%\)", row)) == 4 for row in rows)


def test_what_did_not_run_stands_in_both_with_its_reason(recorded):
    told = recorded | {"not_run": [{"name": "a <peer>", "why": "took  too long"}]}
    assert "- a <peer>: took too long" in markdown(told)
    assert "Not run: a &lt;peer&gt; (took too long)." in page(told)


def test_a_name_that_is_nobody_s_is_refused(capsys):
    assert main(["--only", "nobody"]) == 2
    assert "--only must be a part of a system's name, not ['nobody']" in capsys.readouterr().err


def test_a_system_that_can_not_be_installed_is_told_and_scores_nothing(monkeypatch, tmp_path):
    def fails(family, cache):
        raise run.Failed(f"no package {family}")

    monkeypatch.setattr(run, "environment", fails)
    outcomes = run.run([BY_NAME["Feast, event"]], "seed", tmp_path, tmp_path)
    told = results(outcomes, "seed", [])
    assert told["systems"] == []
    assert told["not_run"] == [{"name": "Feast, event", "why": "not installed: no package feast"}]
    assert "- Feast, event: not installed: no package feast" in markdown(told)


def test_a_system_whose_worker_dies_is_told_and_scores_nothing(monkeypatch, tmp_path):
    monkeypatch.setitem(run.ENVIRONMENTS, "arcticdb", ())
    monkeypatch.setattr(run, "environment", lambda family, cache: Path(run.sys.executable))
    [outcome] = run.run([BY_NAME["ArcticDB, as_of T"]], "seed", tmp_path, tmp_path, ["news-1"])
    assert outcome.verdicts == ()
    assert "arcticdb" in outcome.problem


@pytest.fixture(scope="module")
def recorded():
    return json.loads((HOME / "results.json").read_text())


def test_what_is_recorded_is_a_run_of_what_is_frozen(recorded):
    assert recorded["frozen"]
    assert differences(recorded["seed"]) == []
    assert recorded["graded_by"] == results([], recorded["seed"], [])["graded_by"]
    assert (HOME / "results.md").read_text() == markdown(recorded)


def test_what_is_recorded_has_a_system_that_fails_each_class_and_controls_that_all_pass(recorded):
    real = [system for system in recorded["systems"] if not system["control"]]
    assert len({system["family"] for system in real}) >= 8
    assert every(one["failed_by"] for one in recorded["classes"].values())
    assert every(system["controls"]["passed"] == system["controls"]["of"] == 928 for system in real)


def test_what_is_recorded_of_ours_is_no_leak_and_little_withheld(recorded):
    [ours] = [system for system in recorded["systems"] if system["name"] == "pitlake"]
    assert (ours["leak"]["cases"], sum(ours["canaries"].values())) == (0, 0)
    assert ours["withheld"]["high"] < 0.005
