"""The distributions built from the checkout: complete, and working without a checkout."""

import json
import os
import subprocess
import sys
import tarfile
import time
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from packaging.requirements import Requirement

from pitlake.cli import COMMANDS, EXTRAS
from pitlake.lake.lake import Lake
from tests.cli.conftest import AFTER, BEFORE, CREATED, article
from tests.derived.conftest import put_rows
from tests.forge.test_demo import VINTAGES
from tests.forge.test_providers import gdp
from tests.kit import publish

pytestmark = pytest.mark.long
MODULES = {"psycopg2_binary": "psycopg2", "pyyaml": "yaml", "pydantic_ai_slim": "pydantic_ai"}
"""The modules of distributions with different names."""
SOON = 60
"""The most seconds from a user's file to the first answer."""
LIGHT = 460 << 20
"""The most bytes on disk that an installation takes, including libraries."""


@pytest.fixture(scope="module")
def built(root, tmp_path_factory):
    """The source archive, and the wheel built from it."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(root)]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    return {"sdist": next(target.glob("*.tar.gz")), "wheel": next(target.glob("*.whl"))}


@pytest.fixture(scope="module")
def install(built, tmp_path_factory):
    """A function that creates an environment with only the wheel and its dependencies, linked from this environment."""

    def made(*extras):
        home = tmp_path_factory.mktemp("installed")
        venv.create(home / "env", with_pip=False)
        site = next((home / "env").glob("lib/python*/site-packages"))
        with zipfile.ZipFile(built["wheel"]) as wheel:
            wheel.extractall(site)
        (own,) = metadata.distributions(name="pitlake", path=[str(site)])
        for name in closure(own.requires, extras):
            bring(metadata.distribution(name), site)
        return home

    return made


@pytest.fixture(scope="module")
def installed(install):
    """An environment with the wheel and its dependencies, without extras."""
    return install()


def closure(requirements, extras, seen=frozenset()) -> set[str]:
    """Return the names of the packages that these requirements install."""
    result = set(seen)
    for expected in map(Requirement, requirements or ()):
        if expected.marker and not any(expected.marker.evaluate({"extra": extra}) for extra in (*extras, "")):
            continue
        if expected.name not in result:
            result |= closure(metadata.requires(expected.name), tuple(expected.extras), result | {expected.name})
    return result


def bring(distribution, site):
    """Link a distribution's files: whole packages, and single files in folders that several distributions share."""
    for file in distribution.files:
        package = Path(file.parts[0])
        whole = Path(distribution.locate_file(package / "__init__.py")).is_file()
        linked = package if whole else file
        source = Path(distribution.locate_file(linked))
        if ".." not in file.parts and source.exists() and not (site / linked).exists():
            (site / linked).parent.mkdir(parents=True, exist_ok=True)
            (site / linked).symlink_to(source)


def pitlake(installed, *arguments, **env):
    command = [str(installed / "env/bin/python"), "-c", "from pitlake.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=installed, capture_output=True, text=True, timeout=120, check=False, env=env)


def site_of(installed):
    return next((installed / "env").glob("lib/python*/site-packages"))


def files_below(folder):
    return (Path(home, name) for home, _, names in os.walk(folder, followlinks=True) for name in names)


def test_the_wheel_contains_pitlake_with_its_sql_and_forge_with_its_skills(built):
    names = zipfile.ZipFile(built["wheel"]).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"pitlake", "forge"}
    skills = {str(path) for path in Path("forge").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert skills | {"pitlake/sql/columns.txt"} <= set(names)
    for folder in ("views", "queries", "indexed", "macros"):
        here = {path.name for path in (Path("sql") / folder).glob("*.sql")}
        assert here
        assert {name.rpartition("/")[2] for name in names if name.startswith(f"pitlake/sql/{folder}/")} == here


def test_the_wheel_declares_its_command(built):
    with zipfile.ZipFile(built["wheel"]) as wheel:
        entry = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
        assert "pitlake = pitlake.cli:main" in wheel.read(entry).decode()


def test_the_source_archive_contains_the_files_its_tests_need(built):
    with tarfile.open(built["sdist"]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"Makefile", "requirements.lock", "scripts/set-up", "tests/house/conftest.py", ".ci/run"} <= names


def test_the_plain_install_is_small_and_without_heavy_packages(installed):
    site = site_of(installed)
    tops = {path.name for path in site.iterdir()}
    assert not tops & {"assets", "checks", "resources", "pipelines", "sql", "sample", "tests"}
    assert not tops & {"dagster", "great_expectations", "neo4j", "obstore", "pandas", "rich", "sqlalchemy"}
    assert sum(path.stat().st_size for path in files_below(site)) < LIGHT


def test_the_installed_wheel_answers_outside_the_checkout(installed):
    output = pitlake(installed, "--help").stdout
    assert [line.split()[0] for line in output.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()] == [
        *COMMANDS,
        *("backfill", "demo", "fetch", "forge", "reparse", "sync"),
    ]
    described = pitlake(installed, "describe", "news")
    assert described.returncode == 0, described.stderr
    assert described.stdout.startswith("# news")


def test_the_installed_wheel_queries_a_lake_as_of_an_instant(installed, tmp_path):
    lake = Lake(tmp_path / "lake")
    publish(lake, "news", [article(1, "Title", CREATED)], "run")
    counts = [
        pitlake(
            installed, "query", "--lake", str(lake.root), "--as-of", instant, "--format", "csv", "SELECT id FROM news"
        )
        for instant in (BEFORE, AFTER)
    ]
    assert [message.returncode for message in counts] == [0, 0], counts
    assert [message.stdout for message in counts] == ["id\n", "id\nbzNews_1\n"]
    names = pitlake(
        installed, "run", "news_latest", "--lake", str(lake.root), "--as-of", AFTER, "--format", "csv", "--ticker", "A"
    )
    assert (names.returncode, names.stdout.count("\n")) == (0, 1), names
    checked = pitlake(installed, "doctor", "--lake", str(lake.root))
    assert checked.returncode == 0, checked
    assert "`pitlake sync` work without" in checked.stdout


def test_the_installed_wheel_mounts_a_table_and_answers_in_two_commands(installed, tmp_path):
    """It takes a file and two commands to get an answer as of an instant, without a checkout or an extra."""
    path, start = tmp_path / "estimates.csv", time.monotonic()
    path.write_text("ticker,period,eps,published_at\nA,q1,1.0,2024-02-01\nA,q1,2.0,2024-02-20\n")
    lake = ("--lake", str(tmp_path / "lake"))
    columns = ("--key", "ticker,period", "--available-at", "published_at", "--valid-at", "period")
    mounted = pitlake(installed, "mount", str(path), "--name", "estimates", *columns, *lake)
    assert mounted.returncode == 0, mounted
    message = pitlake(installed, "query", "--as-of", AFTER, "--format", "csv", "SELECT eps FROM estimates", *lake)
    assert (message.returncode, message.stdout) == (0, "eps\n1.0\n"), message
    assert time.monotonic() - start < SOON


def test_forge_needs_its_extra_and_runs_its_demo_with_ten_skills(installed, install, tmp_path):
    without = pitlake(installed, "forge", "demo")
    assert (without.returncode, without.stdout) == (2, "")
    assert without.stderr.endswith("is not installed; install it with pip install 'pitlake[forge]'\n")
    home = install("forge")
    listing = pitlake(home, "forge", "read", "/skills/")
    assert (listing.returncode, listing.stdout.count("\n")) == (0, 11), listing
    put_rows(Lake(tmp_path / "lake"), "macro_observations", *(gdp(day, value) for day, value in VINTAGES))
    played = pitlake(home, "forge", "demo", "--lake", str(tmp_path / "lake"), "--into", str(tmp_path / "story"))
    assert played.returncode == 0, played
    assert "0 differences" in played.stdout


@pytest.mark.parametrize("extra", ["alerts", "excel"])
def test_a_command_of_forge_that_lacks_its_libraries_names_the_extra(install, extra):
    arguments = {"alerts": ("desk", "--send", "brief"), "excel": ("export", "--excel", "desk.xlsx")}[extra]
    homes, channel = (install("forge"), install("forge", extra)), "json://127.0.0.1:9"
    without, served = (pitlake(home, "forge", *arguments, FORGE_NOTIFY=channel) for home in homes)
    reply = f"pitlake: {EXTRAS[extra][0]} is not installed; install it with pip install 'pitlake[{extra}]'\n"
    assert (without.returncode, without.stderr) == (2, reply)
    assert "is not installed" not in served.stderr
    assert served.returncode == (1 if extra == "alerts" else 0), served  # nothing receives the message


def test_the_installed_wheel_has_its_demo_and_fills_a_lake(installed, tmp_path):
    display = pitlake(installed, "demo", "--into", str(tmp_path / "lake"))
    assert display.returncode == 0, display
    assert "6.29 USD" in display.stdout
    feeds = "from assets.order import dependencies; dependencies(); import pipelines.sync.run, pipelines.fetch.asking"
    platform = {"PYTHONPATH": str(site_of(installed) / "pitlake/platform")}
    subprocess.run([str(installed / "env/bin/python"), "-c", feeds], cwd=installed, env=platform, check=True)
    message = pitlake(installed, "backfill", "earnings", "--tickers", "A", "--from", "2024-01-01", "--to", "2024-03-31")
    assert message.stderr == "pitlake: dagster is not installed; install it with pip install 'pitlake[platform]'\n"


LACKING = sorted(EXTRAS.keys() - {"alerts", "audit", "excel", "forge", "platform"})
"""Extras that a command of the kernel needs. Forge's commands need `alerts` and `excel` in addition to `forge`."""


@pytest.mark.parametrize("extra", LACKING)
def test_a_command_that_lacks_its_libraries_names_the_extra_that_brings_them(installed, install, tmp_path, extra):
    lake = Lake(tmp_path / "lake")
    publish(lake, "news", [article(1, "Title", CREATED)], "run")
    bars = "ticker,date,open,high,low,close,volume\nA,2016-12-30,116.65,117.20,115.43,115.82,30586265\n"
    (tmp_path / "bars.csv").write_text(bars)
    command, *rest = {
        "iceberg": ("export", "--as-of", AFTER, "--to", "iceberg://own/tables", "--format", "iceberg"),
        "mcp": ("mcp", "--as-of", AFTER),
        "postgres": ("mount", "postgresql://127.0.0.1:9/own", "--table", "own", "--name", "own"),  # no server answers
        "report": ("report", "--output", str(tmp_path / "report")),
        "s3": ("export", "--as-of", AFTER, "--to", "s3:///copy"),
        "sync": ("sync", "--prices", str(tmp_path / "bars.csv"), "--split-basis", "traded"),
        "web": (
            "web",
            "--host",
            "203.0.113.1",
            "--allow-host",
            "elsewhere",
        ),  # not an address of this machine, so listening on it fails
    }[extra]
    without = pitlake(installed, command, "--lake", str(lake.root), *rest)
    assert (without.returncode, without.stdout) == (2, "")
    assert without.stderr.endswith(f"is not installed; install it with pip install 'pitlake[{extra}]'\n")
    served = pitlake(install(extra), command, "--lake", str(lake.root), *rest)
    refusals = {"iceberg": "URI missing", "postgres": "Connection refused", "s3": "without a plain bucket"}
    refusal = (refusals | {"web": "can't listen"}).get(extra)
    assert served.returncode == (2 if refusal else 0)
    assert (refusal or "") in served.stderr


def test_an_audit_needs_only_its_extra(installed, install, tmp_path):
    (tmp_path / "cpi.csv").write_text("date,value\n2024-01-01,1.0\n2024-02-01,1.1\n2024-03-01,1.2\n2024-04-01,1.3\n")
    without = pitlake(installed, "audit", str(tmp_path / "cpi.csv"))
    assert (without.returncode, without.stdout) == (2, "")
    assert without.stderr.endswith("is not installed; install it with pip install 'pitlake[audit]'\n")
    served = pitlake(install("audit"), "audit", str(tmp_path / "cpi.csv"))
    assert served.returncode == 1, served.stderr
    assert "date is the first day of the period that a row is about: 4 of 4 rows" in served.stdout


def test_a_search_by_meaning_names_the_extra_that_brings_its_model(installed, install, tmp_path):
    lake = Lake(tmp_path / "lake")
    publish(lake, "news", [article(1, "Title", CREATED)], "run")
    question = ("search", "a headline", "--by", "meaning", "--lake", str(lake.root), "--as-of", AFTER)
    without = pitlake(installed, *question)
    assert (without.returncode, without.stdout) == (2, "")
    assert "pip install 'pitlake[meaning]'" in without.stderr
    assert pitlake(install("meaning"), *question).returncode == 0


def test_the_wheels_agent_kit_works_in_an_empty_project_and_home(install, tmp_path):
    """The first steps of docs/agents.md: install, query through .mcp.json, be denied by a hook, uninstall."""
    home, project, lake = install("mcp"), tmp_path / "project", Lake(tmp_path / "lake")
    publish(lake, "news", [article(1, "Title", CREATED)], "run")
    project.mkdir()
    command = home / "env/bin/pitlake"
    command.write_text(f"#!{home}/env/bin/python\nfrom pitlake.cli import main\nmain()\n")
    command.chmod(0o755)
    reply = pitlake(home, "agents", "install", "--dir", str(project))
    assert reply.returncode == 0, reply.stderr
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "PITLAKE_LAKE": str(lake.root), "PITLAKE_AS_OF": AFTER}
    env |= {"CLAUDE_PROJECT_DIR": str(project)}
    server = json.loads((project / ".mcp.json").read_text())["mcpServers"]["pitlake"]
    line = [argument.replace("${CLAUDE_PROJECT_DIR:-.}", str(project)) for argument in server["args"]]

    async def asked():
        async with Client(StdioServerParameters(command=server["command"], args=line, env=env)) as client:
            return await client.call_tool("run_query", {"name": "news_latest", "params": {}})

    assert [row["id"] for row in anyio.run(asked).structured_content["data"]] == ["bzNews_1"]
    (guard,) = json.loads((project / ".claude/settings.json").read_text())["hooks"]["PreToolUse"][0]["hooks"]
    read = {"tool_name": "Read", "tool_input": {"file_path": str(lake.root / "_lake")}, "cwd": str(project)}
    message = subprocess.run(
        ["sh", "-c", guard["command"]], input=json.dumps(read), env=env, capture_output=True, text=True, check=True
    )
    assert '"deny"' in message.stdout
    assert pitlake(home, "agents", "uninstall", "--dir", str(project)).returncode == 0
    assert [path.name for path in project.iterdir()] == [".pitlake"]  # the hooks' log


def test_every_module_of_an_extra_is_declared_in_it(pyproject):
    declared = pyproject["project"]["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        names = {Requirement(text).name.replace("-", "_") for text in declared[extra]}
        result = {MODULES.get(name, name) for name in names}
        assert result >= set(modules) if extra == "platform" else result == set(modules)


def test_the_platform_extra_brings_what_the_platform_imports(install):
    """The code comes from the wheel and the libraries from the extra, without those of `dev`."""
    home = install("platform", "embedded-graph")
    outcome = subprocess.run(
        [str(home / "env/bin/python"), "-c", "import pipelines.definitions"],
        cwd=home,
        env={"PYTHONPATH": str(site_of(home) / "pitlake/platform"), "DAGSTER_HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
