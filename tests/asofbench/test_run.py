"""The command: one line, and results as JSON, Markdown and a page, like the results recorded in the repository."""

import hashlib
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from asofbench import large, run, systems
from asofbench.__main__ import main
from asofbench.generate import LOADER, differences
from asofbench.page import badge, page
from asofbench.report import markdown, results, table
from asofbench.systems import BY_NAME
from tests.every import every

LARGE = ("knows all", "an instant late", "shows everything")
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


def test_progress_is_shown_before_the_first_load_and_then_the_time_left(capsys, monkeypatch):
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


def test_the_result_page_is_self_contained_and_the_picture_shows_every_class(written):
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
def test_a_system_or_option_that_cannot_run_is_refused_in_one_line(arguments, problem, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    half = "from asofbench import Visible\n\nbroken = 1\n\nclass Half(Visible):\n    def visible(self, at): return []\n"
    Path("own.py").write_text(half)
    Path("needs.py").write_text("import nothing_such\n")
    assert main(["run", *arguments]) == 2
    [reply] = capsys.readouterr().err.splitlines()
    assert problem in reply


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Two runs of one control, each with a different class, and a run of another control."""
    folder = tmp_path_factory.mktemp("parts")
    runs = {
        "first": ("knows all", "undated"),
        "second": ("knows all", "restatement"),
        "third": ("shows everything", "undated"),
    }
    for name, (system, kind) in runs.items():
        assert main(["run", system, "--worlds", "news", "--classes", kind, "--out", str(folder / name)]) == 0
    return [str(folder / name / "results.json") for name in runs]


def test_runs_of_other_classes_and_systems_are_merged(parts, tmp_path):
    assert main(["merge", *parts, "--out", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "results.json").read_text())
    right, wrong = document["systems"]
    assert (right["name"], right["groups"]["store"], right["cases"]) == ("control: knows all", {"right": 2, "of": 2}, 2)
    assert [(run["classes"], run["adapter"]) for run in right["runs"]] == [(1, right["adapter"])] * 2
    assert table(document)[2].startswith("| control: knows all (only 2 of 38 classes) | control |")
    assert (wrong["leak"], len(wrong["runs"])) == (["undated"], 1)
    assert list(document["classes"]) == ["restatement", "undated"]
    assert (tmp_path / "results.md").read_text() == markdown(document)


def test_a_later_run_replaces_the_classes_it_ran_and_names_them(parts, tmp_path):
    again = json.loads(Path(parts[0]).read_text())
    [system] = again["systems"]
    failure = {"class": "undated", "verdict": "leak", "why": "", "cases": 1, "first": "undated/news/0"}
    system |= {"adapter": "another", "by_class": {"undated": {"leak": 1}}, "failures": [failure]}
    system |= {"controls": {"passed": 0, "of": 1}, "leak": ["undated"]}
    (tmp_path / "again.json").write_text(json.dumps(again))
    for before, number in ((parts[:2], 2), (parts[:1], 1)):
        assert main(["merge", *before, str(tmp_path / "again.json"), "--out", str(tmp_path)]) == 0
        document = json.loads((tmp_path / "results.json").read_text())
        [merged] = document["systems"]
        assert (merged["adapter"], merged["leak"], merged["failures"]) == ("another", ["undated"], [failure])
        assert (merged["cases"], merged["controls"]) == (number, {"passed": number - 1, "of": number})
        runs = {2: [None, None, ["undated"]], 1: [None]}[number]
        assert [run.get("again") for run in merged["runs"]] == runs
        merged["control"] = False  # the results list only the runs of systems, not those of controls
        assert ("1 again (undated) on " in markdown(document)) == (number == 2)


def test_a_merged_run_is_as_frozen_only_if_all_are(parts, tmp_path):
    first = tmp_path / "changed.json"
    first.write_text(json.dumps(json.loads(Path(parts[0]).read_text()) | {"frozen": False, "differences": ["run.py"]}))
    rest = [*parts[1:], str(first)]
    for files in (rest, rest[::-1]):
        assert main(["merge", *files, "--out", str(tmp_path)]) == 0
        document = json.loads((tmp_path / "results.json").read_text())
        assert (document["frozen"], "run.py" in document["differences"]) == (False, True)


def test_runs_that_cannot_be_merged_are_refused_in_one_line(parts, tmp_path, capsys):
    (tmp_path / "list.json").write_text("[]")
    other = tmp_path / "other.json"
    other.write_text(json.dumps(json.loads(Path(parts[1]).read_text()) | {"seed": "mine"}))
    problems = {
        (parts[0], str(other)): "and mine: merge runs of one seed",
        (str(tmp_path / "none.json"),): "can't be read: [Errno 2]",
        (str(tmp_path / "list.json"),): "is not the results.json of a run",
        (): "there is nothing to merge",
    }
    for files, problem in problems.items():
        assert main(["merge", *files, "--out", str(tmp_path)]) == 2
        assert problem in capsys.readouterr().err.splitlines()[-1]


def test_the_large_case_is_measured_and_appears_in_the_table():
    small = large.Large("seed", deliveries=4, entities=10)
    right, late, leaks = (large.measured(BY_NAME[f"control: {name}"], small) for name in LARGE)
    assert (right["rows"], right["instants"], right["verdicts"]) == (80, 80, {"caught": 80})
    assert late["verdicts"] == {"caught": 76, "withheld": 4}
    assert leaks["verdicts"]["leak"] > 50
    outcomes = [run.Outcome(system=BY_NAME["control: knows all"], large=right)]
    [line] = table(results(outcomes, "seed", []))[2:]
    assert line.split(" | ")[-4] == "80 of 80"


def test_an_entry_point_names_a_system(monkeypatch):
    point = EntryPoint("mine", "asofbench.adapters.controls:Oracle", systems.ENTRY_POINTS)
    monkeypatch.setattr(systems, "entry_points", lambda group: [point])
    assert systems.found("mine").adapter_class().__name__ == "Oracle"


def test_a_badge_states_the_counts_of_right_classes_and_leaks(written):
    [late] = [system for system in json.loads((written / "results.json").read_text())["systems"] if system["withheld"]]
    drawn = ET.fromstring(badge(late | {"leak": ["undated"]}))
    assert re.fullmatch(r"AsOfBench: 0 of \d+ classes, 1 leak", drawn[0].text)


def test_systems_that_did_not_run_are_listed_with_the_reason(written):
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
            place.mkdir()  # fails if it exists, as uv does
            created.append(place)

    monkeypatch.setattr(run, "_call", call)
    with ThreadPoolExecutor(2) as pool:
        assert len({*pool.map(lambda _: run.environment("plugmem", tmp_path), range(2))}) == len(created) == 1


def test_a_system_that_cannot_be_installed_is_listed_and_scores_nothing(monkeypatch, tmp_path):
    def fails(family, cache):
        raise run.Failed(f"no package {family}")

    monkeypatch.setattr(run, "environment", fails)
    outcomes = run.run([BY_NAME["Feast, event"]], run.Plan(seed="seed", cache=tmp_path, scratch=tmp_path))
    reply = results(outcomes, "seed", [])
    assert reply["systems"] == []
    assert reply["not_run"] == [{"name": "Feast, event", "why": "not installed: no package feast"}]
    assert "- Feast, event: not installed: no package feast" in markdown(reply)


def test_a_system_whose_worker_dies_is_reported_and_scores_nothing(monkeypatch, tmp_path):
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


def test_the_recorded_results_are_of_the_frozen_cases_and_graders(recorded):
    assert recorded["frozen"]
    assert differences(recorded["seed"]) == []
    assert recorded["graded_by"] == results([], recorded["seed"], [])["graded_by"]
    assert (HOME / "results.md").read_text() == markdown(recorded)


def test_recorded_systems_are_alphabetical_and_every_class_separates_them(recorded):
    real = [system for system in recorded["systems"] if not system["control"]]
    assert [system["name"] for system in real] == sorted((system["name"] for system in real), key=str.casefold)
    assert every(0 < len(its["failed_by"]) < its["systems"] for its in recorded["classes"].values())
    passed = [system for system in real if system["controls"]["passed"] == system["controls"]["of"]]
    # Controls of hostile sessions run last: after a refusal, or after an erasure that ends time travel (Iceberg).
    failed = [system["by_class"] for system in real if system not in passed]
    assert every(kinds["hostile_session"].get("refused") or kinds["erasure"].get("leak") for kinds in failed)
