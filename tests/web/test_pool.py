"""The pool of sessions: a slow opening holds up nobody else, none ends under its reader, a lost one is opened anew."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from pitlake.clock import instant
from pitlake.errors import SessionLost
from pitlake.web import pool as pools
from pitlake.web.pool import COMPANY_PAGES, Pool
from tests.every import every

T = instant("2024-04-30T20:00:00Z")


class Opened:
    """What stands for a session."""

    is_as_opened = True

    def close(self):
        self.is_as_opened = False


@pytest.fixture
def pool(monkeypatch):
    """A pool of two that keeps nothing idle, with no lake behind it. opening: what `open_session` does first."""
    monkeypatch.setattr(pools.Lake, "head", lambda _: 1)
    monkeypatch.setattr(pools.Lake, "snapshot", lambda *_: None)
    monkeypatch.setattr(pools.Lake, "contracts", lambda *_: {})
    outcome = Pool("nowhere", "in_process", most=2, idle=0.0)
    outcome.opening, outcome.opened = lambda as_of: None, []

    def open_session(viewpoint, **_):
        outcome.opening(viewpoint.as_of)
        outcome.opened.append(Opened())
        return outcome.opened[-1]

    monkeypatch.setattr(pools, "open_session", open_session)
    return outcome


def test_a_session_that_opens_slowly_holds_up_no_reader_of_another(pool):
    start, goes_on = threading.Event(), threading.Event()

    def slowly(as_of):
        if as_of == T:
            start.set()
            assert goes_on.wait(60)

    def read(as_of):
        with pool.session(as_of) as session:
            return session

    pool.opening = slowly
    with ThreadPoolExecutor(2) as readers:
        slow = readers.submit(read, T)
        assert start.wait(60)
        other = readers.submit(read, T - timedelta(days=1))
        try:
            assert other.result(10) is pool.opened[0]
        finally:
            goes_on.set()
        assert slow.result(60) is pool.opened[1]


def test_no_session_ends_while_a_reader_has_it_or_waits_for_it(pool):
    def read(_):
        with pool.session(T) as session:
            time.sleep(0.001)  # so that others wait for it
            return not session.is_as_opened

    with ThreadPoolExecutor(4) as readers:
        assert not any(readers.map(read, range(200)))
    assert len(pool) == 0
    assert every(not each.is_as_opened for each in pool.opened)


def test_who_waited_for_a_session_that_was_lost_gets_another(pool):
    def lose():
        with pool.session(T) as session:
            waiting = readers.submit(read)
            while pool._pooled[T, 1, COMPANY_PAGES].users < 2:
                pass
            session.close()
            raise SessionLost("gone")
        return waiting

    def read():
        with pool.session(T) as session:
            return session

    with ThreadPoolExecutor(1) as readers, pytest.raises(SessionLost):
        lose()
    assert [each.is_as_opened for each in pool.opened] == [False, False]


def test_what_can_t_be_opened_is_tried_again(pool):
    def fails(as_of):
        raise SessionLost("not now")

    pool.opening = fails
    with pytest.raises(SessionLost, match="not now"), pool.session(T):
        pass
    assert len(pool) == 0
    pool.opening = lambda as_of: None
    with pool.session(T) as session:
        assert session.is_as_opened


def test_a_session_in_use_as_the_pool_closes_ends_too(pool):
    with pool.session(T) as session:
        pool.close()
        assert not session.is_as_opened
    assert len(pool) == 0
