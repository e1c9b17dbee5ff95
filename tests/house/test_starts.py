"""Every command, page, report, job, schedule, sensor and documented command is started once on the demo's lake.

The list is read from the code, so an addition without a case fails here. The demo is the one in the README's test: the
two share one process, and this file comes after it.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import click
import dagster as dg
import pytest

from assets.derived.factory import follow_inputs
from checks.quality import FOLDER_VARIABLE
from forge.core.tape import Tape
from forge.web import room
from pipelines.definitions import build_definitions
from pipelines.partitions import EARNINGS_SET
from pitlake import cli, connect
from pitlake.clock import instant
from pitlake.lake.storage.watch_list import WatchList
from pitlake.web.address import Address
from resources.graph.open import GraphSettings, graph_server
from resources.graph.resource import GraphResource
from resources.lake import LakeResource
from sample import outside
from tests.cli.conftest import ROOT
from tests.house.newcomer import PATIENCE
from tests.web.browsing import BASE, TOKEN, browsing

pytestmark = [pytest.mark.long, pytest.mark.timeout(2 * PATIENCE), pytest.mark.xdist_group("newcomer")]

T, EARLIER = "2024-05-29T17:00:00-04:00", "2024-05-29T16:00:00-04:00"
AS_OF = ("--as-of", T)
DAY = {"dagster/asset_partition_range_start": "2024-05-29", "dagster/asset_partition_range_end": "2024-05-29"}

# The arguments of commands. Named queries take their parameters from VALUES.
COMMANDS = {
    ("query",): ("SELECT count(*) FROM news", *AS_OF),
    ("panel",): (
        "--tickers",
        "AAPL",
        "--since",
        "2009-10",
        "--fields",
        "revenue_ttm,eps_diluted_year,close",
        "--as-of",
        T,
    ),
    ("search",): ("guidance raised", *AS_OF),
    ("agents", "install"): ("--dir", "."),
    ("agents", "check"): ("--dir", "."),
    ("agents", "uninstall"): ("--dir", "."),
    ("agents", "run"): (*AS_OF, "--", "true"),
    ("datasets",): AS_OF,
    ("describe",): ("news", *AS_OF),
    ("gaps",): AS_OF,
    ("diff",): ("--from", EARLIER, "--to", T),
    ("export",): (*AS_OF, "--dataset", "news", "--to", "copy"),
    ("report",): ("--output", "report"),
    ("versions",): (),
    ("receipts",): (),
    ("replay",): ("{receipt}",),
    ("compact",): ("news",),
    ("vacuum",): (),
    ("doctor",): (),
    ("demo",): ("--into", "public"),
    ("backfill", "earnings"): ("--tickers", "QBG", "--from", "2024-01-01", "--to", "2024-03-31"),
    ("fetch",): ("--source", "fred", "--op", "series", "--query", "GDP", "--pit", T),
    ("reparse",): (),
    ("forge", "approvals"): (),
    ("forge", "book"): (),
    ("forge", "fills", "list"): (),
    ("forge", "calibrate"): (),
    ("forge", "desk"): AS_OF,
    ("forge", "memories"): (),
    ("forge", "demo"): ("--into", "story"),
    ("forge", "doctor"): (),
    ("forge", "bundle"): ("{decision}",),
    ("forge", "export"): ("fills",),
    ("forge", "expressions"): (),
    ("forge", "fork"): ("{decision}", "--set", "answer=Nothing follows from it."),
    ("forge", "own-view"): (),
    ("forge", "read"): ("/memory/views/",),
    ("forge", "replay"): ("{decision}",),
    ("forge", "search"): ("/memory/", "growth"),
    ("forge", "skills", "proposals"): (),
    ("forge", "skills", "propose"): (),
    ("forge", "views"): (),
    ("forge", "why"): ("{decision}",),
}
# Commands that need something the demo lacks. They end with exit code 2 and a line that gives the reason.
REFUSED = {
    ("agents", "connect"): ((), "PITLAKE_SOCKET"),
    ("sync",): ((), "--tickers"),
    ("proxy",): (("--as-of", T, "--policy", "none"), "'none'"),
    ("mount",): (("none.parquet", "--name", "own"), "none.parquet"),
    ("sealed",): (("none.csv", "--sql", "SELECT 1"), "none.csv"),
    ("check",): (("none.py::panel", "--from", "2024-03-01", "--to", "2024-03-08"), "none.py"),
    ("audit",): (("none.csv",), "none.csv"),
    ("retract",): (("--run", "none", "--reason", "no"), "'none'"),
    ("study", "report"): (("none",), "none"),
    ("forge", "adjust"): (("E-001", "--stop", "1"), "is read-only"),
    ("forge", "close"): (("E-001", "--reason", "no"), "is read-only"),
    ("forge", "constrain"): (("--max-gross", "100"), "is read-only"),
    ("forge", "cash"): (("deposit", "100", "--reason", "new money"), "is read-only"),
    ("forge", "fills", "import"): (("none.csv",), "none.csv"),
    ("forge", "fills", "void"): (("F-001", "--reason", "no"), "is read-only"),
    ("forge", "fills", "restore"): (("F-001", "--reason", "no"), "is read-only"),
    ("forge", "halt"): (("--reason", "no"), "is read-only"),
    ("forge", "release"): (("--reason", "no"), "is not halted"),
    ("forge", "approve"): (("E-001", "--hash", "0" * 64), "is read-only"),
    ("forge", "ask"): (("What of growth?",), "ANTHROPIC_API_KEY"),
    ("forge", "backtest"): (("--from", "2014-05-01", "--to", "2014-05-02"), "ANTHROPIC_API_KEY"),
    ("forge", "portfolio", "import"): (("none.csv",), "none.csv"),
    ("forge", "mcp"): ((), "mcp.tools: is empty"),
    ("forge", "rebuild"): ((), "is not empty"),
    ("forge", "reject"): (("E-001", "--reason", "no"), "is read-only"),
    ("forge", "settle"): ((), "is read-only"),
    ("forge", "ticket"): (("E-001",), "is not a held Expression"),
    ("forge", "verify"): (("none.json",), "none.json"),
    ("forge", "stop"): (("none",), "is not running"),
    ("forge", "skills", "approve"): (("P-001", "--hash", "0" * 64), "P-001"),
    ("forge", "skills", "reject"): (("P-001", "--hash", "0" * 64, "--reason", "narrow"), "P-001"),
    ("forge", "skills", "rollback"): (("retrospective",), "retrospective"),
    ("forge", "skills", "test"): (("P-001",), "P-001"),
}
# Commands that run until their input ends or they are interrupted, and their first output.
RUNNING = {
    ("shell",): (AS_OF, ""),
    ("mcp",): (AS_OF, ""),
    ("forge", "chat"): ((), "ANTHROPIC_API_KEY"),
    ("web",): ((*AS_OF, "--port", "0"), "http://127.0.0.1:"),
}
VALUES = {
    "ticker": "QBRY", "start_date": "2024-01-01", "end_date": "2024-05-01", "concepts": "us-gaap:Revenues",
    "concept_qname": "us-gaap:Revenues", "query": "growth", "series": "GDP", "day": "2024-05-29", "channel": "Earnings",
    "pairs": '[{"ticker": "QBRY", "at": "2024-05-29T16:00:00-04:00"}]', "member_qnames": "us-gaap:ProductMember",
    "model": "claude-opus-4-1", "kind": "index", "instrument": "SPX", "period": "2014-01-01",
}  # fmt: skip


@pytest.fixture(scope="module")
def place(demo, tmp_path_factory) -> Iterator[Path]:
    """A copy of the demo in the working directory, with the environment variables that its last lines export."""
    home = tmp_path_factory.mktemp("starts")
    shutil.copytree(demo, home / "demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for name in ("ANTHROPIC_API_KEY", "NEO4J_URI", "PITLAKE_NOTIFY", "FORGE_JOURNAL", "FORGE_CONFIG"):
            patch.delenv(name, raising=False)
        patch.setenv("PITLAKE_LAKE", str(home / "demo/lake"))
        patch.setenv("FORGE_LAKE", str(home / "demo/forge-simulated-month"))
        patch.setenv("DAGSTER_HOME", str(home / "demo/dagster"))
        patch.setenv("PITLAKE_GRAPH_ROOT", str(home / "demo/graph"))
        patch.setenv(FOLDER_VARIABLE, str(home / "report"))
        yield home / "demo"


def leaves(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command below a group, with its path."""
    context = click.Context(command, info_name=path[-1] if path else "pitlake")
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), (*path, name))


LEAVES = dict(leaves(cli.cli))
NAMED = {path: command for path, command in LEAVES.items() if path[0] == "run"}


def filled(arguments: tuple[str, ...], place: Path) -> list[str]:
    """Return the arguments with the demo's last decision and a receipt filled in."""
    decision = Tape(place / "forge-tape.sqlite").decisions()[-1]
    receipt = next((path.stem for path in (place / "lake/_lake/receipts").glob("*.json")), "")
    return [argument.format(decision=decision, receipt=receipt) for argument in arguments]


def values_of(command: click.Command, lake: Path) -> list[str]:
    """Return the parameters of a named query. A search by meaning gets a seed from the lake."""
    names = {parameter.name for parameter in command.params}
    inputs = [f"--{name.replace('_', '-')}={value}" for name, value in VALUES.items() if name in names]
    if "seed_id" in names:
        with connect(T, lake=lake) as session:
            ((seed,),) = session.sql("SELECT max(id) FROM embeddings WHERE id LIKE 'bzNews%'").rows()
        inputs = [f"--seed-id={seed}"]
    return inputs


def test_every_command_has_a_case():
    assert {*LEAVES} == {*COMMANDS, *REFUSED, *RUNNING, *NAMED}
    assert len(NAMED) > 30


@pytest.mark.parametrize("path", NAMED, ids=" ".join)
def test_every_named_query_runs_on_the_demo_lake(path, place, capfd):
    code = cli.invoke([*path, *AS_OF, *values_of(NAMED[path], place / "lake")])
    assert code == 0, capfd.readouterr().err


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_runs_on_the_demo_lake(path, place, capfd):
    if path == ("replay",):
        cli.invoke(["query", "SELECT 1 AS one", *AS_OF, "--receipt"])
    code = cli.invoke([*path, *filled(COMMANDS[path], place)])
    assert code == 0, capfd.readouterr().err


@pytest.mark.parametrize("path", REFUSED, ids=" ".join)
def test_a_command_that_lacks_something_is_refused_in_one_line(path, place, capfd):
    arguments, says = REFUSED[path]
    assert cli.invoke([*path, *filled(arguments, place)]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert says in line


@pytest.mark.parametrize("path", RUNNING, ids=" ".join)
def test_a_long_running_command_starts_and_stops(path, place):
    arguments, says = RUNNING[path]
    with subprocess.Popen(
        [sys.executable, "-m", "pitlake", *path, *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        first = running.stdout.readline() if path == ("web",) else ""
        running.send_signal(signal.SIGINT) if first else None
        out, err = running.communicate()
    assert says in first + out + err
    assert "Traceback" not in err
    assert running.returncode == {"": 0, "ANTHROPIC_API_KEY": 2}.get(says, 130)


def test_every_web_page_and_form_responds(place):
    unlocked = {"origin": BASE, "cookie": f"pitlake_token={TOKEN}"}
    home = Address(instant(T), "QBRY")
    with browsing(place / "lake", rooms=(room,), home=home) as client:
        routes = [route for route in client.app._app._app._app.routes if hasattr(route, "methods")]
        display: dict[str, list[int]] = {}
        asking = [home.url("/ask", question="filings"), home.url("/sql", sql="SELECT 1 AS n")]
        waiting, seen = [home.url(), "/", "/desk", "/unlock", *reversed(asking)], set()
        response = client.post("/receipts", data=receipt_form(client, waiting[-1]), headers=unlocked)
        waiting.append(response.headers["location"])
        while waiting:
            address = waiting.pop(0)
            route = next(route.path for route in routes if matches(route, address))
            if address in seen or len(display.setdefault(route, [])) >= 3:
                continue
            seen.add(address)
            answer = client.get(address, follow_redirects=True)
            display[route].append(answer.status_code)
            links = re.findall(r'href="(/[^"#]*)', answer.text)
            waiting += [link.replace("&amp;", "&") for link in links if not link.startswith("/static")]
        assert {*display} == {route.path for route in routes if "GET" in route.methods}
        assert {code for codes in display.values() for code in codes} == {200}
        decision = filled(("{decision}",), place)[0]
        forms = {
            "/receipts": (response, 303),
            "/unlock": (client.post("/unlock", data={"token": TOKEN}, headers=unlocked), 303),
            "/desk/d/{name}/replay": (client.post(f"/desk/d/{decision}/replay", headers=unlocked), 200),
            "/desk/e/{name}/approve": (
                client.post("/desk/e/E-001/approve", data={"sha256": "0"}, headers=unlocked),
                409,
            ),
            "/desk/e/{name}/reject": (client.post("/desk/e/E-001/reject", data={"sha256": "0"}, headers=unlocked), 409),
            "/desk/pk/{name}/approve": (client.post("/desk/pk/PK-001/approve", headers=unlocked), 409),
            "/desk/pk/{name}/reject": (client.post("/desk/pk/PK-001/reject", headers=unlocked), 409),
            "/desk/calibrate": (client.post("/desk/calibrate", headers=unlocked), 200),
            **{
                f"/desk/{order}": (client.post(f"/desk/{order}", headers=unlocked), 409)
                for order in (
                    "adjust",
                    "cash",
                    "close",
                    "constrain",
                    "fills",
                    "halt",
                    "own-view",
                    "release",
                    "restore",
                    "settle",
                    "stop",
                    "void",
                )
            },
            "/desk/skills/{name}/approve": (client.post("/desk/skills/P-1/approve", headers=unlocked), 409),
            "/desk/skills/{name}/reject": (client.post("/desk/skills/P-1/reject", headers=unlocked), 409),
        }
    assert {*forms} == {route.path for route in routes if "POST" in route.methods}
    assert {path: answer.status_code for path, (answer, _) in forms.items()} == {
        path: due for path, (_, due) in forms.items()
    }


def matches(route, address: str) -> bool:
    return bool(route.path_regex.match(address.partition("?")[0]))


def receipt_form(client, address: str) -> dict[str, str]:
    """Return the fields that the button under a page's answer sends."""
    page = client.get(address).text
    (form,) = re.findall(r'<form[^>]*action="/receipts".*?</form>', page, re.DOTALL)[:1]
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))


@pytest.fixture(scope="module")
def wired(place):
    """The definitions over the demo's graph and lake, and a Dagster instance."""
    with (
        graph_server(GraphSettings(root=place / "graph")) as server,
        dg.DagsterInstance.get() as instance,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        user, password = server.reader_auth or ("", "")
        graph = GraphResource(uri=server.uri, username=user, password=password, database=server.database)
        definitions = build_definitions(resources={"graph": graph})
        yield definitions, instance


QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
# The tags of each job's run. Its assets get the demo's configuration.
JOBS = {
    "dropped_files": {},
    "earnings_bundles": {},
    "edgar_watch": {},
    "external_feeds": {},
    "forge_brief": {},
    "forge_tracking": {},
    "forge_turn": {},
    "graph_days": DAY,
    "graph_snapshots": {},
    "macro_watch": {},
    "maintenance": {},
    "quality": {},
}


def test_every_job_has_a_case(wired):
    outcome = {job.name for job in wired[0].get_repository_def().get_all_jobs()}
    assert outcome - {"__ASSET_JOB"} == {*JOBS}


@pytest.mark.parametrize("name", [name for name in JOBS if name != "forge_turn"])
def test_every_job_runs_on_the_demo_lake(name, wired, place, monkeypatch):
    definitions, instance = wired
    job = definitions.resolve_job_def(name)
    monkeypatch.setenv("FORGE_LAKE", str(place / "forge"))  # jobs write the live memory
    monkeypatch.setenv("FORGE_NOTIFY", "log")
    tags = JOBS[name]
    if name == "earnings_bundles":
        derived = [dg.AssetKey(name) for name in ("names", "earnings_events", "text_vectors")]
        everything = definitions.resolve_implicit_global_asset_job_def()
        assert everything.execute_in_process(instance=instance, run_config=QUIET, asset_selection=derived).success
        key = next(
            partition for partition in instance.get_dynamic_partitions(EARNINGS_SET) if partition.endswith("|QBG")
        )
        tags = {"dagster/partition": key}
    expected = {node.name for node in job.nodes}
    ops = {op: config for op, config in outside.run_config().items() if op in expected}
    result = job.execute_in_process(instance=instance, run_config=QUIET | {"ops": ops}, tags=tags, raise_on_error=False)
    assert result.success, [event.step_failure_data.error_display_string for event in result.get_step_failure_events()]


def test_an_agent_turn_without_a_model_fails_and_names_the_missing_key(wired, place, monkeypatch):
    definitions, instance = wired
    monkeypatch.setenv("FORGE_LAKE", str(place / "forge"))
    config = QUIET | {"ops": {"take_turn": {"config": {"as_of": T, "occasion": "morning_review"}}}}
    result = definitions.resolve_job_def("forge_turn").execute_in_process(
        instance=instance, run_config=config, raise_on_error=False
    )
    (failure,) = result.get_step_failure_events()
    assert "ANTHROPIC_API_KEY" in failure.step_failure_data.error_display_string


def test_every_schedule_requests_a_run_config_valid_for_its_job(wired, monkeypatch):
    definitions, instance = wired
    for name in ("PITLAKE_DROPS", "ANTHROPIC_API_KEY", "FORGE_NOTIFY"):
        monkeypatch.setenv(name, "0000320193")
    LakeResource().open().watch(WatchList(companies={"0009800021": ("QBG",)}, series=("GDP",)))
    at = datetime(2024, 5, 31, 17, tzinfo=ZoneInfo("America/New_York"))  # a Friday, for the weekly one
    repository = definitions.get_repository_def()
    for schedule in repository.schedule_defs:
        with dg.build_schedule_context(
            instance, at, repository_def=repository, resources=repository.get_top_level_resources()
        ) as context:
            outcome = schedule.evaluate_tick(context)
        assert outcome.run_requests or schedule.name == "evening_bundles", f"{schedule.name}: {outcome.skip_message}"
        for request in outcome.run_requests:
            assert (
                dg.validate_run_config(definitions.resolve_job_def(schedule.job_name), request.run_config) is not None
            )


def test_every_sensor_evaluates(wired, monkeypatch, caplog):
    definitions, instance = wired
    repository = definitions.get_repository_def()

    @dg.op
    def refuse():
        raise dg.Failure("refused")

    cursors: dict[str, str | None] = {}
    for _ in range(2):  # the first tick of a run status sensor only records where to start
        for sensor in (each for each in repository.sensor_defs if each is not follow_inputs):  # the daemon evaluates it
            cursor = cursors.get(sensor.name)
            context = dg.build_sensor_context(
                instance, cursor, repository_def=repository, sensor_name=sensor.name,
                resources=repository.get_top_level_resources(),
            )  # fmt: skip
            with context:
                cursors[sensor.name] = sensor.evaluate_tick(context).cursor
        job = dg.GraphDefinition(name="work", node_defs=[refuse]).to_job()
        job.execute_in_process(instance=instance, raise_on_error=False)
    assert "work failed" in caplog.text


def test_make_report_writes_the_report(place):
    (recipe,) = re.findall(r"^report: .*\n\t@\$\(BIN\)/python (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    done = subprocess.run(
        [sys.executable, *recipe.split()], env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    numbers = json.loads((Path(os.environ[FOLDER_VARIABLE]) / "report.json").read_text())
    assert len(numbers["datasets"]) > 40
