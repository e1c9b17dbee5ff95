"""The sessions that an MCP server keeps for a client's next question. No call sees what another call did."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psutil
import pytest

from pitlake.clock import instant
from pitlake.errors import LakeNotFound
from pitlake.lake import Lake
from pitlake.mcp.query_service import LIMITS, ServiceQuestion
from pitlake.serving import kept, turns
from pitlake.serving.kept import KeptSessions
from pitlake.session import Viewpoint
from tests.doors.conftest import AS_OF, news, publish
from tests.doors.mcp_client import ALL_NEWS, server, service, talk
from tests.processes import wait_for_end

COUNT = "SELECT count(*) AS articles FROM news"


@pytest.fixture
def sessions():
    pool = KeptSessions(LIMITS)
    yield pool
    pool.close()


@pytest.fixture
def ask_as_client(small_lake, sessions):
    """A function that queries as a client and returns the process that answered."""

    def ask(who="", sql=COUNT, as_of=AS_OF, datasets=("news",), lake=small_lake):
        token = turns.client.set(who)
        try:
            with sessions.session(Viewpoint(as_of=instant(as_of), lake=lake), datasets) as session:
                session.sql(sql)
                return psutil.Process(session._backend.pid)
        finally:
            turns.client.reset(token)

    return ask


def test_a_client_s_next_question_at_the_same_instant_goes_to_the_same_session(ask_as_client):
    first = ask_as_client()
    assert ask_as_client(sql=ALL_NEWS) == first
    others = [ask_as_client(as_of="2024-04-01T00:00:00Z"), ask_as_client(datasets=None), ask_as_client("another")]
    assert first not in others
    assert ask_as_client() == first


def test_the_first_call_waits_for_the_session_that_is_opened_ahead(small_lake, sessions, ask_as_client, monkeypatch):
    session, original = [], kept.open_session
    monkeypatch.setattr(kept, "open_session", lambda *args, **more: session.append(1) or original(*args, **more))
    sessions.open_ahead(Viewpoint(as_of=instant(AS_OF), lake=small_lake))
    ask_as_client(datasets=None)
    ask_as_client(datasets=None)
    assert len(session) == 1


def test_a_failed_opening_ahead_is_silent_and_the_call_reports_the_error(tmp_path, sessions, ask_as_client, capfd):
    sessions.open_ahead(Viewpoint(as_of=instant(AS_OF), lake=tmp_path / "nowhere"))
    with pytest.raises(LakeNotFound, match="there is no lake"):
        ask_as_client(lake=tmp_path / "nowhere")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE mine AS SELECT 1 AS x",
        "CREATE OR REPLACE VIEW news AS SELECT 1 AS id",
        "CREATE MACRO f() AS 1",
        "SET VARIABLE x = 1",
        "PREPARE p AS SELECT 1",
        "BEGIN",
    ],
)
def test_a_session_changed_by_a_call_is_not_reused(ask_as_client, sessions, change):
    changed = ask_as_client(sql=change)
    assert len(sessions) == 0
    wait_for_end([changed])
    assert ask_as_client() != changed


def test_no_call_sees_what_another_call_did(lake):
    calls = [
        ("query", {"sql": "CREATE OR REPLACE VIEW news AS SELECT 'forged' AS id"}),
        ("query", {"sql": ALL_NEWS}),
        ("query", {"sql": ALL_NEWS}),
    ]
    _, first, again = talk(server(service(lake)), *calls)
    (alone,) = talk(server(service(lake)), calls[-1])
    assert first.structured_content == again.structured_content == alone.structured_content
    assert "forged" not in str(first)


def test_a_new_version_of_the_lake_gets_a_new_session(small_lake, tmp_path):
    lake = Lake(shutil.copytree(small_lake.root, tmp_path / "lake"), allow_drift="revised")
    serving = service(lake)

    def ask():
        return serving.ask(ServiceQuestion(COUNT), pit=None, max_rows=None, cursor=None).result.rows()

    before = ask()
    late = [row | {name: f"{row[name]}9" for name in ("id", "evidence")} for row in news()]
    publish(lake, "news", late, "more")
    assert ask() > before
    assert len(serving._sessions) == 2
    serving._sessions.close()


def test_an_idle_session_whose_process_died_is_not_reused(ask_as_client):
    dead = ask_as_client()
    dead.kill()
    wait_for_end([dead])
    assert ask_as_client() != dead


def test_idle_sessions_are_limited_per_client_in_total_and_in_time(ask_as_client, sessions, monkeypatch):
    monkeypatch.setattr(kept, "OF_CLIENT", 2)
    monkeypatch.setattr(kept, "IN_ALL", 3)
    days = [f"2024-04-0{day}T00:00:00Z" for day in (1, 2, 3)]
    processes = [ask_as_client("one", as_of=day) for day in days]
    assert len(sessions) == 2
    wait_for_end(processes[:1])
    for who in ("two", "three"):
        ask_as_client(who)
    assert len(sessions) == 3
    assert [ask_as_client("one", as_of=day) in processes for day in reversed(days)] == [True, False, False]
    monkeypatch.setattr(sessions, "_idle_seconds", -1.0)
    ask_as_client("four")
    assert len(sessions) == 0


def test_a_session_that_uses_a_lot_of_memory_is_not_reused(ask_as_client, sessions, monkeypatch):
    monkeypatch.setattr(kept, "MOST_BYTES", 1 << 20)
    ask_as_client()
    assert len(sessions) == 0


def test_a_shared_session_serves_a_single_reader_at_a_time(small_lake):
    viewpoint = Viewpoint(as_of=instant(AS_OF), lake=small_lake)
    in_use, opened = set(), set()

    def read(reader):
        turns.client.set(str(reader))
        with sessions.session(viewpoint, ["news"]) as session:
            process = session._backend.pid
            assert process not in in_use
            in_use.add(process)
            session.sql(COUNT)
            in_use.remove(process)
        opened.add(process)

    with closing(KeptSessions(LIMITS, shared=True)) as sessions, ThreadPoolExecutor(2) as readers:
        assert len(list(readers.map(read, range(12)))) == 12
        assert len(opened) == len(sessions) <= 2


def test_closing_all_sessions_ends_those_in_use_too(small_lake, sessions):
    with sessions.session(Viewpoint(as_of=instant(AS_OF), lake=small_lake), ["news"]) as session:
        process = psutil.Process(session._backend.pid)
        sessions.close()
        wait_for_end([process])
    assert len(sessions) == 0


def test_an_idle_session_moves_forward_with_the_work_but_never_back(small_lake):
    processes, counts = [], []
    days = [f"2024-04-0{day}T00:00:00Z" for day in (2, 3, 4, 1)]
    with closing(KeptSessions(LIMITS, moves=True)) as sessions:
        for day in days:
            viewpoint = Viewpoint(as_of=instant(day), lake=small_lake)
            with sessions.session(viewpoint, ["news"]) as session:
                assert session.as_of == instant(day)
                assert session.sql("SELECT count(*) FROM news WHERE available_at > as_of()").rows() == [(0,)]
                processes.append(session._backend.pid)
            counts.append(len(sessions))
    assert counts == [1, 1, 1, 2]
    assert processes[1] == processes[2] != processes[3]


@pytest.mark.parametrize("change", [{"datasets": None}, {"client": "another"}, {"hindsight": "omit"}])
def test_a_session_with_other_options_is_not_moved(small_lake, change):
    with closing(KeptSessions(LIMITS, moves=True)) as sessions:
        for day, options in (("2024-04-02T00:00:00Z", {}), ("2024-04-03T00:00:00Z", change)):
            token = turns.client.set(options.get("client", ""))
            viewpoint = Viewpoint(as_of=instant(day), lake=small_lake, hindsight=options.get("hindsight", "show"))
            with sessions.session(viewpoint, options.get("datasets", ["news"])) as session:
                assert session.as_of == instant(day)
            turns.client.reset(token)
        assert len(sessions) == 2
