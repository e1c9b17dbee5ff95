"""Answers that are small when sent but large when read: limits count the decoded size, in every encoding."""

import re
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from pitlake.errors import LimitExceeded, QueryFailed
from pitlake.lake import Lake
from pitlake.session import Limits
from tests.doors.conftest import AS_OF, news, publish
from tests.processes import children_with

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
LONG = "repeat('x', 500_000)"
WAYS = {
    "bare": "{}", "list": "[{}, NULL]", "struct": "{{'a': {}}}", "map to": "map {{1: {}}}", "map of": "map {{{}: 1}}",
    "array": "[{0}, {0}]::{1}[2]",
}  # fmt: skip


def moods(session, text=LONG):
    session.sql(f"CREATE TYPE mood AS ENUM (SELECT unnest([{text}, 'y']))")


@pytest.mark.parametrize("way", WAYS)
def test_enums_are_returned_as_text(lake, ask, way):
    session = ask()
    moods(session, "'happy'")
    value = WAYS[way].format("'happy'::mood", "mood")
    result = session.sql(f"SELECT {value} AS v FROM range(3)")
    assert "dictionary" not in str(result.arrow().schema)
    text = WAYS[way].format("'happy'", "VARCHAR")
    assert result.rows() == session.sql(f"SELECT {text} AS v FROM range(3)").rows()


@pytest.mark.parametrize("way", WAYS)
def test_enums_count_as_their_text_toward_the_byte_limit(lake, ask, way):
    session = ask(limits=Limits(bytes=20 * MIB))
    moods(session, "repeat('x', 5_000)")
    value = WAYS[way].format(f"'{'x' * 5_000}'::mood", "mood")
    with pytest.raises(LimitExceeded, match="bytes"):
        session.sql(f"SELECT {value} AS v FROM range(50_000)")
    cut = session.sql(f"SELECT {value} AS v FROM range(50_000)", max_bytes=5 * MIB)
    assert cut.truncated
    assert 4 * MIB < cut.arrow().nbytes <= 5 * MIB


def test_column_names_are_preserved_when_enums_become_text(lake, ask):
    session = ask()
    moods(session, "'happy'")
    answer = session.sql("""SELECT 'happy'::mood AS "a ""b", 1 AS x, 2 AS x, {'p q': 'y'::mood} AS s""")
    assert answer.columns == ['a "b', "x", "x", "s"]
    assert answer.rows() == [("happy", 1, 2, {"p q": "y"})]


def test_a_list_of_many_enums_counts_toward_the_byte_limit(lake, ask):
    session = ask(limits=Limits(bytes=20 * MIB))
    moods(session)
    with pytest.raises(LimitExceeded, match="bytes"):
        session.sql("SELECT list($longest::mood) AS v FROM range(1_000)", {"longest": "x" * 500_000})
    assert session.sql("SELECT 1").rows() == [(1,)]


@pytest.mark.parametrize("value", ["union_value(k := 1)", "[union_value(k := 'x')]", "1::VARIANT", "{'a': 1::VARIANT}"])
def test_unions_and_variants_are_refused_and_the_error_suggests_a_cast(lake, ask, value):
    with pytest.raises(QueryFailed, match="cast it in the query"):
        ask().sql(f"SELECT {value} AS v")


HOSTILE = {
    "codes": f"CREATE TYPE m AS ENUM (SELECT {LONG} || i FROM range(2) r(i)); "
    f"SELECT ({LONG} || 0)::m AS v FROM range(100_000)",
    "codes in one list": f"CREATE TYPE m AS ENUM (SELECT {LONG} || i FROM range(2) r(i)); "
    f"SELECT list(({LONG} || 0)::m) AS v FROM range(2_000)",
    "long text": "SELECT repeat('x', 30_000_000) || '😀' AS v",
    "escapes": "SELECT repeat(chr(1), 30_000_000) AS v",
    "bits": "SELECT list_transform(range(6_000_000), lambda i: i % 2 = 0) AS v",
    "bytes": "SELECT list_transform(range(6_000_000), lambda i: (i % 2)::TINYINT) AS v",
    "rows of bits": "SELECT list_transform(range(4000), lambda x: x % 2 = 0) AS v FROM range(5_000)",
    "lists of lists": "SELECT list_transform(range(2_000_000), lambda i: [i]) AS v",
    "structs": "SELECT list_transform(range(2_000_000), lambda i: {'a': i, 'b': true}) AS v",
    "maps": "SELECT map(range(500_000), range(500_000)) AS v",
    "blobs": "SELECT repeat('x', 30_000_000)::BLOB AS v",
    "nulls": "SELECT list_transform(range(6_000_000), lambda i: NULL::BOOLEAN) AS v",
    "wide rows": "SELECT " + ", ".join(f"repeat('x', 60_000) AS c{i}" for i in range(900)),
}


def high_water(pid):
    """Return the peak memory of a process, in bytes."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", text)[1]) * 1024


QUICK = ("codes in one list", "long text", "escapes", "rows of bits", "blobs", "wide rows")


@pytest.mark.parametrize("names", [QUICK, pytest.param(tuple(HOSTILE), marks=pytest.mark.long)], ids=["quick", "all"])
def test_no_answer_exhausts_the_memory_of_the_mcp_server(tmp_path, names):
    publish(Lake(tmp_path / "lake"), "news", news(), "r1")
    order = ["-c", "from pitlake.cli import main; main()", "mcp", "--as-of", AS_OF]
    environment = {"PITLAKE_LAKE": str(tmp_path / "lake"), "PYTHONPATH": str(ROOT)}

    async def conversation():
        async with Client(StdioServerParameters(command=sys.executable, args=order, env=environment)) as client:
            await client.call_tool("query", {"sql": "SELECT count(*) AS n FROM news"})
            (server,) = children_with(AS_OF)
            start, most = high_water(server.pid), {}
            for name in names:
                reply = await client.call_tool("query", {"sql": HOSTILE[name], "max_rows": 1000})
                most[name] = (high_water(server.pid) - start) // MIB
                assert reply.is_error or len(reply.content[0].text) < 2 * MIB
            return most

    most = anyio.run(conversation)
    assert max(most.values()) <= 512, most
