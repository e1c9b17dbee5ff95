"""Sessions share nothing, leave nothing behind, and fail separately."""

import os
import signal
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from pitlake.errors import QueryFailed, SessionLost
from pitlake.session.sealed import launcher
from tests.every import every
from tests.processes import ended, wait_for_end
from tests.session.conftest import once_it_runs
from tests.session.toylake import T, row

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def pair(lake, ask):
    lake.add("charts", [row("a", T), row("b", T + timedelta(hours=1))])
    return ask(T), ask(T + timedelta(hours=1))


def gone(pid):
    try:
        return ended(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return True


def test_objects_created_in_one_session_are_invisible_to_another(pair):
    earlier, later = pair
    later.sql("CREATE TABLE leak AS FROM charts; CREATE MACRO told() AS 1; SET VARIABLE v = 42")
    later.sql("CREATE TYPE mood AS ENUM ('x')")
    for query in ("FROM leak", "SELECT told()", "SELECT 'x'::mood"):
        with pytest.raises(QueryFailed):
            earlier.sql(query)
    assert earlier.sql("SELECT getvariable('v'), (SELECT count(*) FROM charts)").rows() == [(None, 1)]


def test_overwriting_views_in_one_session_does_not_affect_another(pair):
    earlier, later = pair
    later.sql("DROP VIEW charts; CREATE TABLE charts AS SELECT 'forged' AS track")
    later.sql("CREATE OR REPLACE MACRO as_of() AS NULL")
    assert earlier.sql("SELECT track, as_of() FROM charts").rows() == [("a", T)]


def test_a_killed_session_raises_session_lost_and_others_keep_working(pair):
    earlier, later = pair
    os.kill(later._backend.pid, signal.SIGKILL)
    with pytest.raises(SessionLost, match="open a new one"):
        later.sql("SELECT 1")
    with pytest.raises(SessionLost):
        later.sql("SELECT 1")
    assert earlier.sql("SELECT track FROM charts").rows() == [("a",)]


def test_a_session_killed_during_a_query_raises_session_lost(ask):
    session = ask()
    once_it_runs(session, lambda: os.kill(session._backend.pid, signal.SIGKILL))
    with pytest.raises(SessionLost):
        session.sql("SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)")


def test_closing_leaves_no_process_and_no_descriptor(lake, ask, leftovers):
    lake.add("charts", [row("a", T)])
    ask().close()
    before = leftovers()
    session = ask()
    session.sql("FROM charts")
    pid = session._backend.pid
    session.close()
    assert gone(pid)
    children, descriptors = leftovers()
    assert children == before[0]
    assert descriptors <= before[1]


def test_closing_stops_a_running_query(ask):
    session = ask()
    once_it_runs(session, session.close)
    with pytest.raises(SessionLost):
        session.sql("SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)")


def test_a_session_closes_at_the_end_of_its_with_block(ask, leftovers):
    with ask() as session:
        pid = session._backend.pid
    assert gone(pid)
    with pytest.raises(SessionLost, match="was closed"):
        session.sql("SELECT 1")


def test_a_dead_zygote_loses_its_sessions_and_is_replaced(lake, ask):
    lake.add("charts", [row("a", T)])
    session = ask()
    pid = session._backend.pid
    launcher._zygote.process.kill()
    launcher._zygote.process.wait()
    with pytest.raises(SessionLost):
        session.sql("SELECT 1")
    assert gone(pid)
    assert ask().sql("SELECT track FROM charts").rows() == [("a",)]


def test_a_zygote_that_does_not_end_is_killed():
    zygote = launcher.Zygote()
    zygote.wait()
    os.kill(zygote.process.pid, signal.SIGSTOP)
    zygote.close()
    assert zygote.process.returncode == -signal.SIGKILL


def test_a_zygote_that_is_still_loading_is_killed_on_close():
    zygote = launcher.Zygote()
    zygote.close()
    assert zygote.process.returncode == -signal.SIGKILL


def test_a_zygote_started_in_advance_serves_the_first_session(lake, ask, monkeypatch):
    lake.add("charts", [row("a", T)])
    monkeypatch.setattr(launcher, "_zygote", None)
    launcher.begin()
    start = launcher._zygote
    assert ask().sql("SELECT track FROM charts").rows() == [("a",)]
    assert launcher._zygote is start
    start.close()


def test_sessions_die_with_the_process_that_opened_them(lake, tmp_path):
    program = """
import os, sys, time
from pitlake.lake.storage.manifest import Snapshot
from tests.sessions import open_at
from pitlake.session.sealed import launcher
session = open_at(Snapshot(1), "2024-01-01T00:00:00Z", datasets=["news"])
print(launcher._zygote.process.pid, session._backend.pid, flush=True)
session.sql("SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)")
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PITLAKE_CACHE": str(tmp_path)},
    ) as opener:
        zygote, child = map(int, opener.stdout.readline().split())
        processes = [psutil.Process(zygote), psutil.Process(child)]
        opener.kill()
    wait_for_end(processes)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_of_the_opener_does_not_end_its_sessions(ask):
    session = ask()
    pid = os.fork()
    if pid == 0:
        session.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert session.sql("SELECT 1").rows() == [(1,)]


def test_threads_can_open_and_query_sessions_concurrently(lake, ask):
    lake.add("charts", [row("a", T)])
    answers = []

    def work():
        with ask() as session:
            answers.extend(session.sql("SELECT track FROM charts").rows() for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[("a",)]] * 18


def test_threads_of_one_session_take_turns(ask):
    session = ask()
    answers = []
    threads = [
        threading.Thread(target=lambda number=number: answers.append(session.sql("SELECT ?", [number]).rows()[0][0]))
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(8))


def test_a_session_inherits_neither_environment_nor_descriptors(lake, ask):
    os.environ["SECRET_OF_THE_PARENT"] = "x"
    remaining = os.open(__file__, os.O_RDONLY)
    os.set_inheritable(remaining, True)
    try:
        session = ask(datasets=["charts"])
        child = Path(f"/proc/{session._backend.pid}")
        content = {str(entry.readlink()) for entry in (child / "fd").iterdir()}
        assert every(not path.startswith(str(ROOT)) for path in content)
        assert (
            len([path for path in content if path.startswith(("socket:", "pipe:"))]) == 1
        )  # the session's process, not the zygote
        assert b"SECRET" not in (child / "environ").read_bytes()
    finally:
        os.close(remaining)
        del os.environ["SECRET_OF_THE_PARENT"]


def test_session_processes_have_a_high_oom_score(ask):
    session = ask()
    assert Path(f"/proc/{session._backend.pid}/oom_score_adj").read_text().strip() == "900"
