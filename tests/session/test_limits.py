"""Rows, bytes, seconds and memory are limited. A breach is one clear error, after which the session is still usable."""

import os
import signal
import threading

import pytest

from pitlake.errors import BadInput, LimitExceeded, QueryFailed, QueryInterrupted, SessionLost
from pitlake.session import Limits
from tests.session.conftest import once_it_runs

ENDLESS = "SELECT sum(a.i * b.i) FROM range(10000000) a(i), range(10000000) b(i)"
DEAF = "SELECT jaro_winkler_similarity(repeat('a', 3000000), repeat('b', 3000000))"


@pytest.fixture(params=["process", "in_process"])
def isolation(request):
    return request.param


def breach(session, query, **changes):
    with pytest.raises(LimitExceeded) as caught:
        session.sql(query, **changes)
    return caught.value


def alive(session):
    return session.sql("SELECT 1").rows() == [(1,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT len(range(4000000000))",
        "SELECT length(repeat('x', 4000000000))",
        "SELECT count(*) FROM (SELECT unnest(range(1000000000)) AS i ORDER BY hash(i))",
        "SELECT list(i) FROM range(4000000000) t(i)",
    ],
)
def test_a_memory_bomb_is_a_clear_error(ask, query):
    session = ask(limits=Limits(memory=2 << 30, seconds=60))
    problem = breach(session, query)
    assert problem.limit == "memory"
    assert "Limits(memory=...)" in str(problem)
    assert alive(session)


def test_an_endless_query_is_stopped_at_the_time_limit(ask, isolation):
    session = ask(limits=Limits(seconds=0.5), isolation=isolation)
    problem = breach(session, ENDLESS)
    assert (problem.limit, problem.allowed) == ("seconds", 0.5)
    assert alive(session)


def test_a_sleeping_query_is_stopped_at_the_time_limit(ask):
    session = ask(limits=Limits(seconds=0.5))
    assert breach(session, "SELECT sleep_ms(60000)").limit == "seconds"
    assert alive(session)


def test_a_session_whose_query_ignores_interruption_is_killed(ask, leftovers):
    session = ask(limits=Limits(seconds=0.5))
    children, _ = leftovers()
    problem = breach(session, DEAF)
    assert "this session is closed" in str(problem)
    assert leftovers()[0] == children - 1
    with pytest.raises(SessionLost, match="open a new one"):
        session.sql("SELECT 1")


def test_a_result_over_the_limit_of_rows_is_refused(ask, isolation):
    session = ask(limits=Limits(rows=1000), isolation=isolation)
    assert len(session.sql("FROM range(1000)")) == 1000
    problem = breach(session, "FROM range(1001)")
    assert (problem.limit, problem.allowed) == ("rows", 1000)
    assert "max_rows" in str(problem)
    assert alive(session)


def test_a_result_over_the_limit_of_bytes_is_refused(ask, isolation):
    session = ask(limits=Limits(bytes=100_000), isolation=isolation)
    assert breach(session, "SELECT repeat('x', 1000) FROM range(1000)").limit == "bytes"
    assert alive(session)


def test_results_are_truncated_on_request_and_marked_as_truncated(ask, isolation):
    session = ask(isolation=isolation)
    cut = session.sql("FROM range(100000)", max_rows=10)
    assert (cut.rows(), cut.truncated, cut.receipt.truncated) == ([(i,) for i in range(10)], True, True)
    assert not session.sql("FROM range(10)", max_rows=10).truncated
    cut = session.sql("SELECT repeat('x', 100) FROM range(100000)", max_bytes=10_000)
    assert cut.truncated
    assert 50 < len(cut) <= 100
    assert cut.arrow().nbytes <= 10_000


def test_max_rows_may_be_zero(ask):
    none = ask().sql("FROM range(10)", max_rows=0)
    assert (none.rows(), none.columns, none.truncated) == ([], ["range"], True)


def test_an_answer_of_many_small_buffers_is_returned_complete(ask):
    columns = [f"i + {number} AS c{number}" for number in range(100)]  # 16 KB each, more than a frame can hold
    answer = ask().sql(f"SELECT {', '.join(columns)} FROM range(2000) t(i) ORDER BY i")
    assert (len(answer), answer.rows()[-1]) == (2000, tuple(1999 + number for number in range(100)))


def test_truncating_ends_a_query_early(ask):
    session = ask(limits=Limits(seconds=10))
    assert len(session.sql("SELECT i FROM range(100000000000) t(i)", max_rows=5)) == 5
    assert alive(session)


def test_ctrl_c_stops_the_query_and_not_the_session(ask):
    session = ask()
    once_it_runs(session, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        session.sql(ENDLESS)
    assert alive(session)


def test_the_answer_of_an_abandoned_query_is_not_returned_for_a_later_query(ask, monkeypatch):
    session = ask()
    with monkeypatch.context() as patched:
        patched.setattr(session._backend, "_await", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            session.sql("SELECT 'given up' FROM range(100000)")
    assert session.sql("SELECT 'asked for'").rows() == [("asked for",)]


def test_a_partially_sent_order_ends_the_session(ask, monkeypatch):
    session = ask()
    session._backend._channel._torn = True
    with pytest.raises(SessionLost):
        session.sql("SELECT 1")


def test_another_thread_can_stop_a_query(ask, isolation):
    session = ask(isolation=isolation)
    stopped = threading.Event()

    def stop():  # repeat, because nothing can be stopped before the query begins
        while not stopped.wait(0.05):
            session.interrupt()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(QueryInterrupted):
        session.sql(ENDLESS)
    stopped.set()
    thread.join()
    assert alive(session)


def test_an_interrupt_between_queries_has_no_effect(ask, isolation):
    session = ask(isolation=isolation)
    session.interrupt()
    assert alive(session)


def test_errors_come_back_as_duckdb_words_them(ask, isolation):
    session = ask(isolation=isolation)
    with pytest.raises(QueryFailed, match='syntax error at or near "SELEC"') as caught:
        session.sql("SELEC 1")
    assert (caught.value.kind, caught.value.exit_code) == ("ParserException", 2)
    with pytest.raises(QueryFailed, match="no statement"):
        session.sql("-- nothing")
    assert alive(session)


@pytest.mark.parametrize("query", ['SELECT "!="(1, 2, 3)', "SELECT " + "(" * 100_000, "SELECT 1" + " + 1" * 30_000])
def test_hostile_texts_end_in_an_error(ask, query):
    with pytest.raises((QueryFailed, LimitExceeded, SessionLost)):
        ask(limits=Limits(seconds=2)).sql(query)


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": 0},
        {"rows": 0.5},
        {"rows": float("inf")},
        {"seconds": -1},
        {"seconds": float("inf")},
        {"seconds": float("nan")},
        {"seconds": 1e300},
        {"memory": 1 << 20},
        {"memory": float("inf")},
        {"threads": True},
        {"bytes": "1"},
    ],
    ids=str,
)
def test_invalid_limits_are_refused(changes):
    with pytest.raises(BadInput, match=r"^limits\."):
        Limits(**changes)


def test_a_time_limit_of_a_year_is_allowed():
    assert Limits(seconds=366 * 86_400.0).seconds == 366 * 86_400


def test_the_memory_limit_is_capped_at_the_machines_memory():
    assert Limits(memory=1 << 60).address_space < 1 << 50
