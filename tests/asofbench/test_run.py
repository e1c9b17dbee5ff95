"""The command: one line, and results as JSON, Markdown and a page; what is recorded in the tree is such a result."""

import hashlib
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from asofbench import run, systems
from asofbench.__main__ import main
from asofbench.generate import LOADER, differences
from asofbench.page import badge, page
from asofbench.report import markdown, results
from asofbench.systems import BY_NAME
from tests.every import every

NOBODY_FAILS_IN = {"catalogue_listing", "error_text"}
HOME = Path(__file__).resolve().parents[2] / "asofbench"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    assert main(["run", "knows all", "an instant late", "--worlds", "news", "--out", str(out)]) == 0
    return out


def test_a_run_writes_what_it_found(written):
    document = json.loads((written / "results.json").read_text())
    right, late = document["systems"][::-1]
    assert [group["right"] for group in right["groups"].values()] == [group["of"] for group in right["groups"].values()]
    assert (late["leak"], late["refused"]) == ([], [])
    assert len(late["withheld"]) == sum(group["of"] for group in late["groups"].values()) - 1
    assert document["frozen"]
    assert (written / "results.md").read_text() == markdown(document)


def test_a_run_records_its_machine_its_limit_and_the_hashes_of_its_cases_and_adapters(written):
    document = json.loads((written / "results.json").read_text())
    assert {"system", "machine", "processor", "processors", "python"} <= set(document["machine"])
    assert document["limit"] == 840
    source = (HOME / "adapters" / "controls.py").read_bytes()
    assert {system["adapter"] for system in document["systems"]} == {hashlib.sha256(source).hexdigest()}


def test_the_first_progress_is_told_before_anything_is_loaded_and_then_what_is_left(capsys, monkeypatch):
    now = iter([0.0, 0.0, 5.0, 5.5, 20.0])
    monkeypatch.setattr(run.time, "monotonic", lambda: next(now))
    progress = run.Progress(4)
    for done in (0, 1, 1, 2):
        progress.tick(done)
    assert capsys.readouterr().err.splitlines() == [
        "asofbench: 0 of 4 loads, installing and loading",
        "asofbench: 1 of 4 loads, about 15 s left",
        "asofbench: 4 of 4 loads, about 0 s left",
    ]


def test_the_page_and_the_picture_are_whole(written):
    whole = (written / "results.html").read_text()
    assert "<title>AsOfBench: who sees the future?</title>" in whole
    assert not re.search(r"""(src|href)=["']|<script""", whole)
    picture = ET.fromstring((written / "picture.svg").read_text())
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {name.replace("_", " ") + ("*" if name in LOADER else "") for name in told_classes(written)} <= set(texts)


def told_classes(folder):
    return json.loads((folder / "results.json").read_text())["classes"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nobody"], "there is no system 'nobody'"),
        (["knows all", "--classes", "tomorrow"], "there is no class 'tomorrow': name one of late_publication"),
        (["knows all", "--worlds", "mars"], "there is no world 'mars': name one of fundamentals"),
        (["missing.py:Store"], "can't be imported: ImportError: there is no file missing.py"),
        (["own.py:Shop"], "can't be imported: AttributeError: module 'own' has no attribute 'Shop'"),
        (["own.py:broken"], "own.py:broken has no load and no ask and no close: extend asofbench.Visible"),
        (["own.py:Half"], "own.py:Half has no load, which Visible needs"),
        (["needs.py:Store"], "can't be imported: ModuleNotFoundError: No module named 'nothing_such'"),
    ],
)
def test_what_can_not_be_run_is_one_sentence(arguments, problem, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    half = "from asofbench import Visible\n\nbroken = 1\n\nclass Half(Visible):\n    def visible(self, at): return []\n"
    Path("own.py").write_text(half)
    Path("needs.py").write_text("import nothing_such\n")
    assert main(["run", *arguments]) == 2
    [reply] = capsys.readouterr().err.splitlines()
    assert problem in reply


def test_an_entry_point_names_a_system(monkeypatch):
    point = EntryPoint("mine", "asofbench.adapters.controls:Oracle", systems.ENTRY_POINTS)
    monkeypatch.setattr(systems, "entry_points", lambda group: [point])
    assert systems.found("mine").adapter_class().__name__ == "Oracle"


def test_a_badge_states_what_is_right_and_what_leaks(written):
    [late] = [system for system in json.loads((written / "results.json").read_text())["systems"] if system["withheld"]]
    drawn = ET.fromstring(badge(late | {"leak": ["undated"]}))
    assert re.fullmatch(r"AsOfBench: 0 of \d+ classes, 1 leak", drawn[0].text)


def test_what_did_not_run_stands_in_both_with_its_reason(written):
    document = json.loads((written / "results.json").read_text()) | {
        "not_run": [{"name": "a <peer>", "why": "took  too long"}]
    }
    assert "- a <peer>: took too long" in markdown(document)
    assert "Not run: a &lt;peer&gt; (took too long)." in page(document)


def test_two_workers_of_a_family_install_its_environment_once(monkeypatch, tmp_path):
    created = []

    def call(command, seconds):
        place = Path(next(word for word in command if word.startswith(str(tmp_path))))
        if "venv" in command:
            time.sleep(0.1)
            place.mkdir()  # fails if it is there, as uv does
            created.append(place)

    monkeypatch.setattr(run, "_call", call)
    with ThreadPoolExecutor(2) as pool:
        assert len({*pool.map(lambda _: run.environment("plugmem", tmp_path), range(2))}) == len(created) == 1


def test_a_system_that_can_not_be_installed_is_told_and_scores_nothing(monkeypatch, tmp_path):
    def fails(family, cache):
        raise run.Failed(f"no package {family}")

    monkeypatch.setattr(run, "environment", fails)
    outcomes = run.run([BY_NAME["Feast, event"]], run.Plan(seed="seed", cache=tmp_path, scratch=tmp_path))
    reply = results(outcomes, "seed", [])
    assert reply["systems"] == []
    assert reply["not_run"] == [{"name": "Feast, event", "why": "not installed: no package feast"}]
    assert "- Feast, event: not installed: no package feast" in markdown(reply)


def test_a_system_whose_worker_dies_is_told_and_scores_nothing(monkeypatch, tmp_path):
    monkeypatch.setitem(run.ENVIRONMENTS, "arcticdb", ())
    monkeypatch.setattr(run, "environment", lambda family, cache: Path(run.sys.executable))
    [outcome] = run.run(
        [BY_NAME["ArcticDB, as_of T"]], run.Plan(seed="seed", cache=tmp_path, scratch=tmp_path, worlds=["news"])
    )
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


def test_what_is_recorded_stands_in_alphabetical_order_and_two_classes_separate_nobody(recorded):
    real = [system for system in recorded["systems"] if not system["control"]]
    assert [system["name"] for system in real] == sorted((system["name"] for system in real), key=str.casefold)
    assert {name for name, its in recorded["classes"].items() if not its["failed_by"]} == NOBODY_FAILS_IN
    assert every(system["controls"]["passed"] == 336 or "hostile_session" in system["refused"] for system in real)
