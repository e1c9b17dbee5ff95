"""Sessions that move forward match sessions opened at the later instant, and never show a row before it is public."""

import io
import os
import signal
from datetime import timedelta

import psutil
import pyarrow.parquet as pq
import pytest

import pitlake
from pitlake.errors import BadInput, LimitExceeded, SessionLost, SessionRefused
from pitlake.session import Limits
from pitlake.session.sealed import process
from pitlake.session.visible.cut_cache import CutCache
from tests.processes import wait_for_end
from tests.session.test_days import bytes_of_files, paths_of_files
from tests.session.toylake import T, gap, row

DAY = timedelta(days=1)
US = timedelta(microseconds=1)
START = T - 100 * DAY
INSTANTS = (START, START, START + US, *(START + days * DAY for days in (1, 3, 9, 40)), T - US, T, T + 9 * DAY)
QUESTIONS = (
    "FROM charts",
    "SELECT * FROM charts_revisions ORDER BY track, available_at",
    "FROM sales",
    "FROM gaps",
    "FROM lake_info",
    "SELECT artist, sum(score) FROM charts GROUP BY artist",
    "SELECT now(), as_of(), today(), random()",
    "SELECT count(*) FROM charts WHERE available_at > now() - INTERVAL 5 DAY",
)
ISOLATIONS = pytest.mark.parametrize("isolation", ["process", "in_process"])


@pytest.fixture
def filled(lake):
    lake.add("charts", [row(f"t{number % 17}", T - 110 * DAY + number * 7 * DAY / 12, number) for number in range(220)])
    lake.add("sales", [row("first", START + 3 * DAY)])  # there is no earlier one
    lake.add("gaps/charts", [gap(START + days * DAY + US, locator=f"Track:{days}") for days in range(0, 100, 4)])
    return lake


def answers(session):
    return [session.sql(question).receipt for question in QUESTIONS]


@ISOLATIONS
def test_an_advanced_session_equals_a_session_opened_at_the_later_instant(filled, ask_of, isolation):
    moving = ask_of(filled, INSTANTS[0], isolation=isolation)
    for instant in INSTANTS:
        moving.advance(instant)
        fresh = ask_of(filled, instant, isolation=isolation)
        assert (moving.as_of, moving.newest, moving.version) == (fresh.as_of, fresh.newest, fresh.version)
        assert answers(moving) == answers(fresh)
        assert moving.company("QBG").notes == fresh.company("QBG").notes


def test_advancing_reuses_the_process_until_its_spare_files_run_out(filled, ask_of, monkeypatch):
    monkeypatch.setattr(process, "SPARE_FILES", 5)
    session = ask_of(filled, START)
    processes = []
    for days in range(1, 30):
        session.advance(START + days * DAY)
        session.sql("FROM charts")
        processes.append(psutil.Process(session._backend.pid))
    assert 1 < len(set(processes)) < 20
    wait_for_end(set(processes) - {processes[-1]})


def test_a_file_too_large_to_copy_goes_to_another_process(lake, ask, monkeypatch):
    lake.add("charts", [row("a", START), row("b", START + 2 * DAY)])
    session = ask(START, datasets=["charts"])
    session.advance(START + DAY)
    with_room = session._backend.pid
    monkeypatch.setattr(process, "_LONGEST_COPY", 0)
    session.advance(START + 2 * DAY)
    assert session._backend.pid != with_room
    assert session.sql("SELECT track FROM charts ORDER BY track").rows() == [("a",), ("b",)]


def test_an_advanced_process_has_no_future_rows_and_opens_no_new_files(filled, ask_of):
    session = ask_of(filled, START)
    session.advance(START + DAY)
    first, pid = paths_of_files(session), session._backend.pid
    for days in range(2, 5):
        tables = [pq.read_table(io.BytesIO(content)) for content in bytes_of_files(session) if content]
        newest = max(filter(None, session.newest.values()))
        assert max(max(table["available_at"].to_pylist()) for table in tables) == newest <= session.as_of
        session.advance(START + days * DAY)
        assert (session._backend.pid, paths_of_files(session)) == (pid, first)
    modified = {session.sql(f"SELECT epoch(last_modified) FROM read_blob('{path}')").rows()[0][0] for path in first}
    assert modified == {0.0}


@pytest.mark.parametrize(
    ("instant", "problem"),
    [(START - US, "is before"), ("2999-01-01T00:00:00Z", "future"), ("2024-02-15", "as_of"), (None, "as_of")],
)
def test_a_session_moves_only_forward_to_an_instant_that_has_passed(filled, ask_of, instant, problem):
    session = ask_of(filled, START)
    before = answers(session)
    with pytest.raises((BadInput, TypeError), match=problem):
        session.advance(instant)
    assert session.as_of == START
    assert answers(session) == before


@ISOLATIONS
def test_a_session_in_open_mode_cannot_advance(filled, ask_of, isolation):
    with pytest.raises(BadInput, match="open mode"):
        ask_of(filled, None, open_mode=True, isolation=isolation).advance(T)


@pytest.mark.sampled(5)
@ISOLATIONS
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "outcome",
    [
        lambda session: session.load("mine", [{"x": 1}]),
        lambda session: session.sql("CREATE TABLE mine AS SELECT 1 AS x"),
        lambda session: session.sql("CREATE TEMP VIEW charts AS SELECT 1 AS x"),
        lambda session: session.sql("CREATE OR REPLACE MACRO as_of() AS TIMESTAMPTZ '1999-01-01'"),
        lambda session: session.sql("SET VARIABLE x = 5"),
        lambda session: session.sql("BEGIN"),
        lambda session: session.sql("DROP VIEW charts_revisions CASCADE"),
        lambda session: session.sql("CREATE SCHEMA s; USE s"),
    ],
)
def test_advancing_discards_everything_created_in_the_session(filled, ask_of, isolation, outcome):
    session = ask_of(filled, START, isolation=isolation)
    outcome(session)
    session.advance(T)
    assert answers(session) == answers(ask_of(filled, T, isolation=isolation))
    assert session.sql("SELECT getvariable('x')").rows() == [(None,)]
    assert session.sql("SELECT count(*) FROM duckdb_tables()").rows() == [(0,)]


def test_limits_and_callbacks_survive_advancing(filled, ask_of):
    seen, request = [], []
    session = ask_of(filled, START, limits=Limits(rows=1, seconds=30))
    session.on_result, session.on_advance = (lambda result: request.append(result.receipt.question.as_of)), seen.append
    session.advance(T)
    session.sql("SELECT 1")
    with pytest.raises(LimitExceeded):
        session.sql("FROM charts_revisions")
    assert (seen, request) == ([T], ["2024-02-15T21:00:00Z"])


def test_the_on_advance_callback_may_refuse_the_later_instant(filled, ask_of):
    def refuse(instant):
        raise BadInput("as_of", "is held out", "ask earlier")

    session = ask_of(filled, START)
    session.on_advance = refuse
    with pytest.raises(BadInput, match="held out"):
        session.advance(T)
    assert session.as_of == START


@pytest.mark.parametrize("noticed", [True, False])
def test_advancing_revives_a_session_whose_process_was_killed(filled, ask_of, noticed):
    session = ask_of(filled, START)
    session.advance(START + DAY)
    os.kill(session._backend.pid, signal.SIGKILL)
    if noticed:
        with pytest.raises(SessionLost):
            session.sql("FROM charts")
    session.advance(T)
    assert answers(session) == answers(ask_of(filled, T))


def test_a_refused_advance_loses_the_session_until_an_advance_succeeds(filled, ask_of, monkeypatch):
    session = ask_of(filled, START)
    session.advance(START + DAY)
    handed = psutil.Process(session._backend.pid)
    deliver = process.Binding.deliver

    def refused(binding, cut_cache, take, earlier=None):
        deliver(binding, cut_cache, take, earlier)
        raise SessionRefused("charts", "a later row")

    with monkeypatch.context() as patched:
        patched.setattr(process.Binding, "deliver", refused)
        with pytest.raises(SessionRefused):
            session.advance(T)
    wait_for_end([handed])  # it may have rows of an instant that it did not reach
    with pytest.raises(SessionLost, match="move it again"):
        session.sql("FROM charts")
    session.advance(T)
    assert answers(session) == answers(ask_of(filled, T))


@ISOLATIONS
def test_a_closed_session_stays_closed_and_leaves_nothing(filled, ask_of, isolation, leftovers):
    ask_of(filled, START).close()  # creates what the very first session leaves behind
    before = leftovers()
    session = ask_of(filled, START, isolation=isolation)
    for days in (1, 2, 60):
        session.advance(START + days * DAY)
        session.sql("FROM charts")
    session.close()
    with pytest.raises(SessionLost, match="closed"):
        session.advance(T)
    assert leftovers()[0] == before[0]
    assert leftovers()[1] <= before[1]


def test_a_session_closed_while_advancing_stays_closed(filled, ask_of, monkeypatch, leftovers):
    session = ask_of(filled, START)
    before, deliver = leftovers()[0], process.Binding.deliver

    def closing(binding, *arguments):
        session.close()
        deliver(binding, *arguments)

    monkeypatch.setattr(process.Binding, "deliver", closing)
    with pytest.raises(SessionLost, match="closed"):
        session.advance(T)
    assert leftovers()[0] == before - 1


@pytest.mark.parametrize(
    ("instants", "options", "problem"),
    [
        (["2024-02-15T21:00:00Z", "2024-02-14T21:00:00Z"], {}, "instants: 2024-02-14T21:00:00Z follows 2024-02-15"),
        (["2999-02-15T21:00:00Z"], {}, "instants: is in the future"),
        (["2024-02-15"], {}, "instants"),
        (["2024-02-15T21:00:00Z"], {"open_mode": True}, "open_mode"),
    ],
)
def test_a_walk_with_invalid_arguments_is_refused_before_opening_anything(instants, options, problem):
    with pytest.raises(BadInput, match=problem):
        pitlake.walk(instants, lake="/nowhere", **options)


def test_a_walk_over_no_instants_opens_nothing():
    assert list(pitlake.walk([], lake="/nowhere")) == []


@pytest.mark.parametrize("few", [0, 2, 9, 1000])
def test_files_cut_from_a_cached_month_equal_freshly_made_files(filled, ask_of, tmp_path, few):
    filled.add("charts", [row(f"late {number}", START + number * DAY / 5, number) for number in range(0, 90, 7)])
    moving = ask_of(filled, START, cut_cache=CutCache(tmp_path / "kept", few=few))
    for hours in (5, 30, 31, 78, 200, 400, 900):
        moving.advance(START + hours * DAY / 24)
        ask_of(filled, moving.as_of, cut_cache=CutCache(tmp_path / "anew", few=few)).close()
    outcome, anew = ({path.name: path.read_bytes() for path in (tmp_path / each).glob("*.parquet")}
                  for each in ("kept", "anew"))  # fmt: skip
    assert len(anew) > 5
    assert anew.items() <= outcome.items()
