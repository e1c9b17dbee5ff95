"""Postgres tables: their special types, and the password, which appears nowhere else."""

import os
import subprocess
import sys
import traceback
from datetime import date

import pytest

from pitlake import cli
from pitlake.errors import BadInput
from pitlake.lake import Lake
from tests.cli.conftest import ROOT
from tests.mounting.origins import execute, in_postgres, needs_postgres, url
from tests.mounting.test_mount import estimates, rows

pytestmark = needs_postgres


def test_types_specific_to_postgres_are_mounted(lake, server):
    execute(
        server,
        "DROP SCHEMA IF EXISTS odd CASCADE",
        "CREATE SCHEMA odd",
        "CREATE DOMAIN odd.price AS numeric(8, 2)",
        "CREATE TYPE odd.kind AS ENUM ('up', 'down')",
        'CREATE TABLE odd."A b" (id int, p odd.price, k odd.kind, n numeric, a int[], v real[], r int4range,'
        " c char(3), at time, o oid, day date, seen timestamptz, gone text)",
        'ALTER TABLE odd."A b" DROP COLUMN gone',
        """INSERT INTO odd."A b" VALUES
        (1, 1.25, 'up', 0.1, '{1,2}', '{0.1,NULL}', '[1,5)', 'x', '10:00', 7, '2024-01-01', '2024-01-02 15:00:01+00'),
        (2, 'NaN', NULL, 'NaN', '{{1},{2}}', NULL, NULL, NULL, NULL, NULL, '0044-03-15 BC', '2024-01-02 15:00:01+00'),
        (3, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'infinity')""",
    )
    done = lake.mount((url(server), "odd.A b"), "estimates", key=["id"], available_at="seen")
    assert [mounted.column.type for mounted in done.mount.columns] == [
        "int", "float", "string", "float", "json", "vector", "string", "string", "string", "int", "date", "instant",
    ]  # fmt: skip
    assert done.gaps == {"day is unreadable": 1, "the knowledge time is unreadable": 1}
    (first,) = rows(lake, None, 'p, k, n, a, v::VARCHAR, r, c, "at", o, day')
    assert first == (1.25, "up", 0.1, "[1,2]", "[0.1, NULL]", "[1,5)", "x  ", "10:00:00", 7, date(2024, 1, 1))


@pytest.mark.parametrize("kind", ["bytea", "interval"])
def test_the_error_for_an_unsupported_postgres_type_names_its_column(lake, server, kind):
    execute(server, "DROP TABLE IF EXISTS raws", f"CREATE TABLE raws AS SELECT 1 AS id, NULL::{kind} AS raw")
    with pytest.raises(BadInput, match="columns: raw is "):
        lake.mount((url(server), "raws"), "estimates", key=["id"])


def test_a_long_postgres_text_is_mounted_complete(lake, server):
    execute(server, "DROP TABLE IF EXISTS texts", "CREATE TABLE texts AS SELECT 1 AS id, repeat('x', 9000000) AS text")
    lake.mount((url(server), "texts"), "estimates", key=["id"])
    assert rows(lake, None, "length(text)") == [(9_000_000,)]


SECRET = "hunter22"
WRONG = [
    "postgresql://dagster:hunter22@127.0.0.1:{port}/dagster",
    "postgresql://dagster@127.0.0.1:{port}/dagster?password=hunter22",
    "postgres://dagster:hunter22@127.0.0.1:9/dagster",
    "postgresql://dagster:x/hunter22@127.0.0.1/dagster",
    "postgresql://dagster:1/hunter22@127.0.0.1/dagster",
    "postgresql://dagster:x@hunter22@127.0.0.1/dagster",
    "postgresql://dagster:x?hunter22@127.0.0.1:9/dagster",
    "postgresql://dagster:%zzhunter22@127.0.0.1/dagster",
    "postgresql://dagster@127.0.0.1/dagster?hunter22",
    "postgresql://dagster:hunter22",
    "postgresql+psycopg2://dagster:hunter22@127.0.0.1/dagster",
    "mysql://dagster:hunter22@127.0.0.1/dagster",
    "s3://key:hunter22@bucket/own.parquet",
]


@pytest.mark.parametrize("place", WRONG)
def test_no_error_contains_a_password(server, tmp_path, capfd, place):
    address = place.format(port=server.port)
    arguments = ["mount", address, "--table", "own", "--name", "own", "--key", "id", "--lake", str(tmp_path / "lake")]
    assert cli.invoke(arguments) == 2
    printed = capfd.readouterr()
    assert printed.err.startswith("pitlake: the table: ")
    with pytest.raises(BadInput) as raised:
        Lake(tmp_path / "lake").mount((address, "own"), "own", key=["id"])
    traces = "".join(traceback.format_exception(raised.value))
    calls = [line for line in traces.splitlines() if "mount((address" not in line]
    assert SECRET not in printed.out + printed.err + "".join(calls) + repr(raised.value.__dict__)


def test_the_error_for_a_misplaced_url_does_not_repeat_the_password(server, capfd):
    assert cli.invoke(["mount", "own.csv", url(server), "--name", "own"]) == 2
    printed = capfd.readouterr().err
    assert "unexpected extra argument" in printed
    assert server.password not in printed


def test_no_file_and_no_output_contains_the_password(server, tmp_path, capfd):
    place, name = in_postgres(estimates(), None, server)
    lake = ["--lake", str(tmp_path / "lake")]
    mount = [
        "mount",
        place,
        "--table",
        name,
        "--name",
        "own",
        "--key",
        "ticker,period",
        "--available-at",
        "published_at",
    ]
    commands = [
        [*mount, *lake],
        [*mount[:6], "--format", "json", *lake],
        ["versions", *lake],
        ["describe", "own", "--open", *lake],
        ["report", "--output", str(tmp_path / "report"), *lake],
        ["query", "--open", "SELECT * FROM own_revisions", "--format", "json", *lake],
    ]
    assert [cli.invoke(command) for command in commands] == [0] * len(commands)
    printed = capfd.readouterr()
    contents = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"dagster-own" in content for content in contents)
    assert not [1 for content in contents if server.password.encode() in content]
    assert server.password not in printed.out + printed.err


def test_the_password_may_come_from_the_environment(server, tmp_path):
    place, name = in_postgres(estimates(), None, server)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PGPASSWORD": server.password}
    address = place.replace(f":{server.password}@", "@")
    command = [
        sys.executable,
        "-m",
        "pitlake",
        "mount",
        address,
        "--table",
        name,
        "--name",
        "own",
        "--key",
        "ticker,period",
    ]
    subprocess.run([*command, "--lake", tmp_path / "lake"], env=environment, check=True, capture_output=True)
