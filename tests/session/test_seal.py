"""What is left to native code in a session's process: its own files, to read, and nothing else."""

import errno
import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from pitlake.errors import IsolationUnavailable
from pitlake.session import launcher, sandbox
from tests.session.inmate import DONE
from tests.session.toylake import T, row

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def imprison(lake):
    own = lake.add("charts", [row("a", T), row("b", T)])
    other = lake.add("charts", [row("c", T + timedelta(days=90))])

    def run(*ways):
        start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); sys.modules['numpy'] = None"  # as the zygote does
        program = f"{start}; from tests.session.inmate import main; main(*sys.argv[1:])"
        told = subprocess.run(
            [sys.executable, "-I", "-W", "ignore", "-c", program, own.path, other.path, str(lake.root), *ways],
            stdout=subprocess.PIPE,
            check=True,
            timeout=60,
            env={"JE_ARROW_MALLOC_CONF": "background_thread:false"},
        )
        return json.loads(told.stdout)

    return run


def done(told):
    return {name for name, outcome in told.items() if outcome == DONE}


WAYS = [["root"], [], ["nobody", "root"], ["nobody"]] if os.geteuid() == 0 else [["root"], []]


@pytest.mark.parametrize("ways", WAYS, ids=" ".join)
def test_a_sealed_process_can_read_its_file_and_do_nothing_else(lake, imprison, ways):
    before = {path: path.read_bytes() for path in lake.root.rglob("*") if path.is_file()}
    told = imprison(*ways)
    # Without a root of its own, stat() still tells that a path exists; nothing else does.
    assert done(told) - (set() if told["own_root"] else {"stat another file"}) == {"read its own file"}
    assert told["own_root"] == ("root" in ways and launcher.separated())
    assert told["query its own file"] == 2
    assert {path: path.read_bytes() for path in lake.root.rglob("*") if path.is_file()} == before


def test_the_lake_is_not_even_there_where_the_system_allows_an_own_root(ask):
    session = ask()
    assert session._backend.own_root == launcher.separated()


def test_a_session_knows_its_files_by_numbers(lake, ask):
    lake.add("charts", [row("secret-name", T)])
    lake.add("charts", [row("b", T - timedelta(days=90))])
    session = ask(datasets=["charts"])
    told = session.sql("SELECT sql FROM duckdb_views() UNION ALL SELECT value FROM duckdb_settings()").rows()
    assert str(lake.root) not in str(told)
    assert "part-" not in str(told)
    files = session.sql(
        "SELECT DISTINCT filename FROM read_parquet(['/proc/self/fd/300', '/proc/self/fd/301'], filename=true)"
    )
    assert sorted(files.rows()) == [("/proc/self/fd/300",), ("/proc/self/fd/301",)]


def test_a_zygote_that_cannot_start_says_why(monkeypatch, ask):
    monkeypatch.setattr(launcher, "_zygote", None)
    monkeypatch.setattr(launcher, "_program", lambda descriptor: "raise ImportError('no such library')")
    with pytest.raises(IsolationUnavailable, match="no such library"):
        ask()


@pytest.mark.parametrize(
    ("missing", "told"),
    [("system", "this is Darwin"), ("machine", "not riscv64"), ("landlock", "no Landlock"), ("old", "version 2")],
)
def test_where_a_seal_is_impossible_a_session_says_so_and_names_the_alternative(monkeypatch, ask, missing, told):
    import landlock

    def no_landlock():
        raise OSError(errno.ENOSYS, "no")

    if missing == "system":
        monkeypatch.setattr(sandbox.platform, "system", lambda: "Darwin")
    elif missing == "machine":
        monkeypatch.setattr(sandbox.platform, "machine", lambda: "riscv64")
    else:
        monkeypatch.setattr(landlock, "landlock_abi_version", no_landlock if missing == "landlock" else lambda: 2)
    monkeypatch.setattr(launcher, "_zygote", None)
    with pytest.raises(IsolationUnavailable, match=told) as caught:
        ask()
    assert 'isolation="in_process"' in str(caught.value)
    assert "gives up" in str(caught.value)
