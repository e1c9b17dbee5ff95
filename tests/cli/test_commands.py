"""Commands other than `query`: catalogue, dictionary, versions, gaps, doctor."""

import json
import shutil
import subprocess
import sys
from datetime import timedelta

import pytest

from pitlake import __version__, cli
from pitlake.datasets import all_datasets
from pitlake.lake import Lake
from pitlake.lake.storage.signed_cache import caches
from pitlake.machine import DiskSpace
from tests.cli.conftest import AFTER, BEFORE, BETWEEN, CREATED, Said, article
from tests.every import every
from tests.kit import publish
from tests.object_store import object_store, settings


def test_datasets_lists_every_contract(pitlake):
    message = pitlake("datasets")
    assert [line.split()[0] for line in message.out.splitlines()[2:]] == list(all_datasets())
    document = json.loads(pitlake("datasets", "--format", "json").out)
    assert [facts["name"] for facts in document] == list(all_datasets())


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", all_datasets())
def test_describe_names_the_columns_of_the_view(pitlake, name):
    described = json.loads(pitlake("describe", name, "--format", "json").out)
    door = ("--open",) if described["open_only"] else ("--as-of", AFTER)
    header = pitlake("query", *door, "--dataset", name, "--format", "csv", f"SELECT * FROM {name} LIMIT 0").out
    assert [column["name"] for column in described["columns"]] == header.strip().split(",")
    assert every(column["meaning"] for column in described["columns"])


def test_versions_are_listed_newest_first(pitlake):
    document = json.loads(pitlake("versions", "--format", "json").out)
    assert [entry["version"] for entry in document] == [2, 1, 0]
    assert [entry["run_id"] for entry in document] == ["second", "first", ""]
    assert len(json.loads(pitlake("versions", "--limit", "1", "--format", "json").out)) == 1


def test_gaps_are_counted_by_reason(pitlake):
    message = pitlake("gaps", "--as-of", AFTER, "--format", "csv")
    assert message.out.splitlines()[1:] == ["news,unverifiable,created is missing or unreadable,1"]


def test_gaps_each_shows_the_locator_and_instant_of_a_gap(pitlake):
    [gap] = json.loads(pitlake("gaps", "--as-of", AFTER, "--each", "--dataset", "news", "--format", "json").out)
    assert (gap["locator"], gap["available_at"]) == ("neo4j:News:bzNews_9", "2024-02-14T21:30:00Z")


def test_a_gap_is_found_by_the_id_of_its_record(pitlake):
    chosen = ("gaps", "--as-of", AFTER, "--each", "--format", "csv", "--id")
    assert [line.split(",")[3] for line in pitlake(*chosen, "bzNews_9").out.splitlines()[1:]] == ["neo4j:News:bzNews_9"]
    nothing = pitlake(*chosen, "bzNews_10")
    assert len(nothing.out.splitlines()) == 1
    assert nothing.err.startswith("no gap with 'bzNews_10' in its locator has a date up to ")


def test_a_later_gap_is_indistinguishable_from_an_unknown_id(pitlake):
    later, unknown = (pitlake("gaps", "--as-of", BEFORE, "--each", "--id", name) for name in ("bzNews_9", "bzNews_0"))
    assert later.out == unknown.out
    assert later.err.replace("bzNews_9", "bzNews_0") == unknown.err


def test_gaps_reveal_nothing_of_the_future(pitlake):
    message = pitlake("gaps", "--as-of", BEFORE, "--dataset", "news", "--format", "csv")
    assert message.out == "dataset,gap_type,reason,gaps\n"
    assert message.err.startswith("no gap of news has a date up to ")
    assert pitlake("gaps", "--open", "--dataset", "names").err == "there are no gaps of names\n"


def test_doctor_passes_on_this_machine(pitlake, lake):
    message = pitlake("doctor", "--format", "json")
    verdicts = {result["check"]: result["verdict"] for result in json.loads(message.out)}
    assert message.code == 0, message.out
    assert verdicts["lake"] == "ok"


def test_doctor_finds_a_damaged_lake(pitlake, lake, tmp_path):
    damaged = shutil.copytree(lake, tmp_path / "lake")
    (damaged / "_lake/log" / f"{2:020d}.json").write_text("{")
    message = pitlake("doctor", "--format", "json", "--lake", str(damaged))
    (result,) = [result for result in json.loads(message.out) if result["check"] == "lake"]
    assert (message.code, message.err, result["verdict"]) == (1, "", "failed")
    assert "restore" in result["says"]


def break_one(pattern):
    """Return a function that removes one file that matches the pattern from a lake."""

    def broken(root):
        (result, *_) = sorted(root.glob(pattern), reverse=True)
        result.unlink()

    return broken


def cut_one_off(root):
    (result, *_) = root.glob("tables/news/**/*.parquet")
    result.write_bytes(result.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (break_one("tables/news/**/*.parquet"), "is missing; restore it"),
        (break_one("gaps/news/**/*.parquet"), "is missing; restore it"),
        (break_one("superseded/news/**/*.parquet"), "is missing; restore it"),
        (cut_one_off, "is damaged; restore it"),
        (break_one("_lake/log/*.json"), "belongs to no version"),
    ],
    ids=["rows", "gaps", "tombstones", "cut off", "log entry"],
)
def test_doctor_names_a_missing_or_damaged_file_of_a_lake(pitlake, lake, tmp_path, fault, says, monkeypatch):
    monkeypatch.setattr("pitlake.lake.upkeep.wholeness.PUBLISH_SECONDS", 0.0)
    broken = shutil.copytree(lake, tmp_path / "lake")
    fault(broken)
    message = pitlake("doctor", "--format", "json", "--lake", str(broken))
    (result,) = [result for result in json.loads(message.out) if result["check"] == "lake"]
    assert (message.code, result["verdict"]) == (1, "failed")
    assert says in result["says"]


def test_doctor_waits_for_a_run_that_is_publishing(lake, tmp_path, monkeypatch):
    publishing = shutil.copytree(lake, tmp_path / "lake")
    entry = publishing / "_lake/log" / f"{2:020d}.json"
    content = entry.read_bytes()
    entry.unlink()
    monkeypatch.setattr("time.sleep", lambda _seconds: entry.write_bytes(content))
    Lake(publishing).look_through()


def test_doctor_names_a_lake_in_an_object_store_by_its_address(pitlake, monkeypatch, tmp_path):
    with object_store() as url:
        for name, value in (settings(url) | {"PITLAKE_CACHE": str(tmp_path / "cache")}).items():
            monkeypatch.setenv(name, value)
        result = {}
        publish(Lake("s3://lakes/here"), "news", [article(1, "Title", CREATED)], "run")
        for root in ("s3://lakes/here", "s3://lakes/none", "s3://absent/none"):
            message = pitlake("doctor", "--format", "json", "--lake", root)
            (lake,) = [result for result in json.loads(message.out) if result["check"] == "lake"]
            result[root] = (message.code, lake["verdict"], lake["says"].removeprefix(root)[:26])
    assert result == {
        "s3://lakes/here": (0, "ok", ", version 1, 2 tables"),
        "s3://lakes/none": (0, "note", "none at s3://lakes/none ye"),
        "s3://absent/none": (1, "failed", ": there is no such bucket;"),
    }


def test_a_receipt_that_cannot_be_written_is_one_clear_error(pitlake, lake, tmp_path):
    blocked = shutil.copytree(lake, tmp_path / "lake")
    shutil.rmtree(blocked / "_lake/scratch", ignore_errors=True)
    (blocked / "_lake/scratch").write_text("in the way")
    message = pitlake("query", "SELECT 1", "--as-of", AFTER, "--lake", str(blocked), "--receipt")
    assert message.code == 1
    assert str(blocked) in message.err.splitlines()[-1]
    assert len(message.err.splitlines()) == 2


def test_doctor_never_prints_a_secret(pitlake, monkeypatch):
    monkeypatch.setenv("NEO4J_URI", "bolt://graph.example:7687")
    monkeypatch.setenv("NEO4J_PASSWORD", "hunter2")
    message = pitlake("doctor")
    assert "hunter2" not in message.out + message.err
    assert "NEO4J_URI" in message.out


def test_doctor_fails_where_a_session_cannot_be_sealed(pitlake, monkeypatch):
    monkeypatch.setattr("pitlake.session.sealed.sandbox.lacking", lambda: "the kernel has no Landlock")
    message = pitlake("doctor")
    assert message.code == 1
    assert "in_process" in message.out


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_explains_itself(pitlake, command):
    message = pitlake(command, "--help")
    assert message.code == 0
    assert message.out.startswith(f"Usage: pitlake {command}")


def test_the_version_option_prints_the_package_version(pitlake):
    assert pitlake("--version").out.strip().endswith(__version__)


def test_compact_merges_nothing_if_any_dataset_name_is_unknown(pitlake, tmp_path):
    lake = Lake(tmp_path / "lake")
    for number, days in enumerate((0, 1, 40)):
        publish(lake, "news", [article(number, "News", CREATED + timedelta(days=days))], f"run-{number}")
    message = pitlake("compact", "--lake", lake.location, "news", "nosuch")
    assert (message.code, lake.head()) == (2, 3)
    assert "nosuch" in message.err
    assert pitlake("compact", "--lake", lake.location, "news").code == 0
    assert lake.head() == 4


@pytest.mark.parametrize(
    ("free", "files", "verdict", "message"),
    [
        (8 << 20, 100, "failed", "full: "),
        (0, 100, "failed", "full: "),
        (10 << 30, 0, "failed", "can create no more files"),
        (100 << 20, 100, "note", "nearly full: "),
        (10 << 30, 100, "ok", " MiB free"),
    ],
)
def test_doctor_reports_a_full_or_nearly_full_disk(tmp_path, monkeypatch, capfd, free, files, verdict, message):
    monkeypatch.setattr("pitlake.machine.room", lambda _path: DiskSpace(free, 100 << 30, files))
    code = cli.invoke(["doctor", "--format", "json", "--lake", str(tmp_path)])
    output = {each["check"]: each for each in json.loads(capfd.readouterr().out)}
    for name, path in (("lake", tmp_path), ("staging", tmp_path / "_staging"), ("cache", caches())):
        reply = output[f"disk of the {name}"]
        assert (reply["verdict"], str(path) in reply["says"], message in reply["says"]) == (verdict, True, True)
    assert code == (1 if verdict == "failed" else 0)


@pytest.mark.parametrize("mib", [64, 200, 500, 1024])
@pytest.mark.parametrize("door", ["pitlake.connect", "pitlake.Lake", "pitlake.session.connect", "pitlake.lake.Lake"])
def test_python_raises_a_clear_error_if_the_address_space_is_too_small(mib, door):
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({mib << 20}, {mib << 20}))\n"
        f"import pitlake.lake, pitlake.session\ntry:\n    {door}\n"
        "except pitlake.PitlakeError as problem:\n    print(type(problem).__name__, problem.exit_code, problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith(f"MachineExhausted 1 this process may use {mib} MiB of addresses (ulimit -v)")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_command_exits_with_a_clear_error_if_the_address_space_is_too_small():
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n"
        "from pitlake.cli import main; main(['query', 'SELECT 1', '--as-of', '2024-01-01T00:00:00Z'])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("pitlake: this process may use 1024 MiB of addresses (ulimit -v)")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("zebra",),
            "none of 2 texts of news and benzinga_news matches; try other words, --by meaning, or another --in",
        ),
        (
            ("zebra", "--ticker", "QBG"),
            "none of 2 texts of news and benzinga_news matches for QBG; try other words, --by meaning, without",
        ),
        (("zebra", "--in", "calls"), "there was nothing to search, 0 texts of qa_exchanges and call_transcripts;"),
    ],
)
def test_a_search_without_matches_says_what_was_searched_and_what_to_try(pitlake, arguments, says):
    message = pitlake("search", *arguments, "--as-of", AFTER)
    assert message.code == 0
    assert says in message.err
    assert pitlake("search", *arguments, "--as-of", AFTER, "--format", "json").out == "[]\n"


def test_a_platform_command_is_unknown_within_another_command_group(pitlake):
    message = pitlake("forge", "fetch", "economic")
    assert (message.code, message.out) == (2, "")
    assert "there is no command 'pitlake forge fetch'" in message.err


UVX = "/home/u/.cache/uv/archive-v0/x"


@pytest.mark.parametrize(
    ("prefix", "library", "command", "says"),
    [
        ("/usr", "starlette", "demo --web", "install it with pip install 'pitlake[web]'"),
        (UVX, "starlette", "demo --web", "run uvx --from 'pitlake[web]' pitlake demo --web"),
        (UVX, "apprise", "forge desk", "run uvx --from 'pitlake[forge,alerts]' pitlake forge desk"),
    ],
)
def test_a_missing_library_error_says_how_to_install_the_library(pitlake, monkeypatch, prefix, library, command, says):
    def missing(**_):
        raise ModuleNotFoundError(name=library)

    monkeypatch.setattr("sys.prefix", prefix)
    monkeypatch.setattr(cli.cli, "main", missing)
    assert pitlake(*command.split()) == Said(2, "", f"pitlake: {library} is not installed; {says}\n")


@pytest.mark.parametrize(
    "command",
    [
        ("mount", "s3://own/estimates.parquet", "--name", "estimates", "--key", "ticker"),
        ("datasets", "--lake", "s3://own/lake"),
        ("query", "FROM news", "--as-of", AFTER, "--lake", "s3://own/lake"),
        ("export", "--as-of", AFTER, "--to", "s3://own/copy"),
    ],
    ids=lambda command: command[0],
)
def test_an_address_at_s3_names_the_extra_if_its_library_is_missing(pitlake, monkeypatch, command):
    for module in ("pitlake.lake.storage.remote", "pitlake.lake.mounting.objects"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "obstore", None)
    says = "pitlake: obstore is not installed; install it with pip install 'pitlake[s3]'\n"
    assert pitlake(*command) == Said(2, "", says)


SEALED = [
    (("a.csv",), "--mcp: missing, or given together with --sql"),
    (("a.csv", "--mcp", "--sql", "SELECT 1"), "--mcp: missing, or given together with --sql"),
    (("2024-a.csv", "--sql", "SELECT 1"), "FILE: '2024-a' can't name a table; write a name before it, such as mine="),
    (("a.csv", "b/a.csv", "--sql", "SELECT 1"), "FILE: two files are called a; name one of them, such as mine=b/a.csv"),
    (("mine=none.csv", "--sql", "SELECT 1"), "none.csv"),
    (("{csv}", "--as-of", AFTER, "--sql", "SELECT 1"), "--available-at: is missing"),
    (("{csv}", "--sql", "FROM read_csv('{csv}')"), "this session has mine, and nothing else"),
]


@pytest.mark.parametrize(("arguments", "says"), SEALED)
def test_invalid_use_of_sealed_is_refused_with_the_reason(pitlake, tmp_path, arguments, says):
    (tmp_path / "mine.csv").write_text("a\n1\n")
    message = pitlake("sealed", *(text.replace("{csv}", str(tmp_path / "mine.csv")) for text in arguments))
    assert message.code in (1, 2)
    assert says in message.err


def test_sealed_tables_are_queried_as_of_an_instant(pitlake, tmp_path):
    (tmp_path / "mine.csv").write_text(f"a,seen\n1,{BEFORE}\n2,{AFTER}\n")
    times = ("--as-of", BETWEEN, "--available-at", "seen")
    message = pitlake("sealed", f"own={tmp_path / 'mine.csv'}", *times, "--sql", "SELECT a FROM own")
    assert (message.code, message.out.split()[-1]) == (0, "1"), message
