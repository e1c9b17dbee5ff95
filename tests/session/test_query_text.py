"""A caller's SQL can slow down only its own session: the parent checks the length, and the sealed process parses it."""

import threading
import time
from contextlib import suppress

import pytest

from pitlake.errors import BadInput, PitlakeError, QueryFailed
from pitlake.session import Limits
from pitlake.session.arguments import LONGEST_PARAMETERS, LONGEST_QUERY
from tests.session.toylake import T

PARENT_SECONDS = 0.2
"""The limit of CPU seconds in the calling thread, for any accepted query."""

SIZE = 120_000
PUMPS = {
    "comments": "/* ", "closed comments": "/**/", "quotes": "'", "identifiers": '"a', "dollars": "$a$",
    "line comments": "--", "system": "system.", "clocks": "system/**/.", "words": "a_of_revisions",
    "statements": "select 1;", "escapes": "E'\\", "parentheses": "(", "brackets": "[", "braces": "{'a':",
    "cases": "case when 1 then ", "subqueries": "(select * from ", "sums": "1+", "signs": "- ", "blanks": " \n",
}  # fmt: skip


@pytest.mark.parametrize("pump", PUMPS)
def test_hostile_query_texts_cost_the_parent_process_little_cpu_time(ask, pump):
    for head in ("", "select "):
        session = ask(limits=Limits(seconds=1, memory=1 << 30))
        text = head + PUMPS[pump] * (SIZE // len(PUMPS[pump]))
        before = time.thread_time()
        with suppress(PitlakeError):
            session.sql(text)
        assert time.thread_time() - before < PARENT_SECONDS


def test_other_sessions_stay_responsive_while_hostile_texts_are_parsed(ask):
    other = ask()
    texts = [pump * (SIZE // len(pump)) for pump in PUMPS.values()]

    def attack() -> None:
        for text in texts:
            with suppress(PitlakeError):
                ask(limits=Limits(seconds=1, memory=1 << 30)).sql(text)

    attacker = threading.Thread(target=attack)
    attacker.start()
    slowest = 0.0
    while attacker.is_alive():
        before = time.perf_counter()
        other.sql("SELECT 1")
        slowest = max(slowest, time.perf_counter() - before)
    assert slowest < 1.0


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_a_text_over_the_limit_is_refused_at_once(ask, isolation):
    session, longest = ask(isolation=isolation), "SELECT 1 --".ljust(LONGEST_QUERY)
    assert session.sql(longest).rows() == [(1,)]
    huge = "SELECT 1 --".ljust(100_000_000)
    for text in (longest + " ", longest[:-1] + "é", huge):
        before = time.thread_time()
        with pytest.raises(BadInput, match=f"query: longer than {LONGEST_QUERY} bytes; give long lists as params"):
            session.sql(text)
        assert time.thread_time() - before < PARENT_SECONDS
    with pytest.raises(BadInput, match="params: longer than"):
        session.sql("SELECT ?", ["x" * LONGEST_PARAMETERS])


def test_values_nested_too_deep_are_refused(ask):
    values: list[object] = []
    for _ in range(100_000):
        values = [values]
    with pytest.raises(BadInput, match="params"):
        ask().sql("SELECT ?", values)


CLOCKS = [
    "SELECT system.now()",
    "SELECT system.main.now()",
    'SELECT "system"."main".current_date()',
    "SELECT `system` . `MAIN` . `Now` ()",
    "SELECT SYSTEM /* . */ . -- .\n main.today(  )",
    "SELECT system.\u2003main\u00a0.now()",
    "SELECT 'é', $é$ ' $é$, E'\\'', system.get_current_timestamp()",
    "SELECT system.main.age(TIMESTAMPTZ '2020-01-01 00:00:00+00')",
    "SELECT system.main.uuidv7()",
    "CREATE TEMP MACRO m() AS system.main.now()",
    "PREPARE p AS SELECT system.main.now()",
    "SELECT 1; SELECT system.main.now()",
    "CREATE TEMP TABLE t AS SELECT system.main.transaction_timestamp() AS c",
]
PLAIN = [
    "SELECT 'system.main.now()' -- system.main.now()",
    "SELECT system.now FROM (SELECT 1 AS now) AS system",
    "SELECT {'system': {'now': 1}}.system.now",
    "SELECT system.main.abs(-1)",
    "/* system.main.now() */ SELECT $$ system.main.now() $$",
]


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_only_real_calls_of_the_machines_clock_are_refused(ask, isolation):
    session = ask(isolation=isolation)
    for query in CLOCKS:
        with pytest.raises(
            QueryFailed, match="reads the machine's clock\nHint: use now\\(\\) or as_of\\(\\), which return T"
        ):
            session.sql(query)
    for query in PLAIN:
        assert len(session.sql(query)) == 1
    assert len(ask(None, open_mode=True, isolation=isolation).sql("SELECT system.main.now()")) == 1


def test_no_function_without_arguments_reads_the_machines_clock(ask):
    session = ask()
    every = (
        "SELECT DISTINCT function_name FROM duckdb_functions() "
        "WHERE len(parameters) = 0 AND database_name = 'system' AND function_type = 'scalar' ORDER BY ALL"
    )
    names = [name for (name,) in session.sql(every).rows()]
    assert {"now", "today", "txid_current"} <= set(names)
    for name in names:
        for called in (f"{name}()", f"system.main.{name}()"):
            with suppress(QueryFailed):
                first = session.sql(f"SELECT {called}::VARCHAR").rows()
                time.sleep(0.002)
                assert session.sql(f"SELECT {called}::VARCHAR").rows() == first, called
    assert session.sql("SELECT now()").rows() == [(T,)]
