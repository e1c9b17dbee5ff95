"""The MCP server, driven by the SDK's own client: in this process, over stdio and over HTTP."""

import base64
import json
import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import anyio
import psutil
import pyarrow.parquet as pq
import pytest
import requests
from mcp import Client, StdioServerParameters

from pitlake import receipts
from pitlake.clock import instant
from pitlake.errors import GONE, BadInput, SessionError
from pitlake.gate.rules import check_envelope
from pitlake.lake import Lake
from pitlake.lake.stage import StagedGap
from pitlake.mcp import lanes
from pitlake.mcp.query_service import LIMITS, Cursor, QueryService, ServiceQuestion, Versions, cursor_key
from pitlake.mcp.server import server
from pitlake.session import connect
from tests.doors.conftest import AS_OF, LOST, START, news, publish, small
from tests.every import every

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-c", "from pitlake.cli import main; main()", "mcp"]
KEY = b"one key for every server of this file"
SETTINGS = {"PYTHONPATH": str(ROOT), "PITLAKE_CURSOR_KEY": KEY.decode()}
ALL_NEWS = "SELECT available_at, available_at_source, id FROM news ORDER BY id"
EVERY_TOOL = (
    ("query", {"sql": ALL_NEWS, "max_rows": 5}),
    ("run_query", {"name": "news_latest", "params": {"ticker": "NOG"}}),
    ("search", {"query": "guidance", "ticker": "NOG"}),
    ("gaps", {"dataset": "news"}),
    ("describe", {}),
)


def talk(to, *calls):
    """The results of tool calls made one after the other by one client."""

    async def conversation():
        async with Client(to) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(conversation)


def service(lake, **changes):
    return QueryService(**{"lake": lake, "as_of": instant(AS_OF), "cursor_key": KEY} | changes)


def ask(lake, tool, /, **arguments):
    (result,) = talk(server(service(lake)), (tool, arguments))
    assert not result.is_error, result.content
    return result.structured_content


def refusal(lake, tool, /, **arguments):
    (result,) = talk(server(service(lake)), (tool, arguments))
    assert result.is_error
    assert result.structured_content is None
    return result.content[0].text


def stdio(lake, *more):
    environment = {"PITLAKE_LAKE": str(lake)} | SETTINGS
    return StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "--as-of", AS_OF, *more], env=environment)


def listens(pid, port):
    """Whether this very process does, and not another that took the port first."""
    try:
        held = psutil.Process(pid).net_connections("tcp")
    except psutil.NoSuchProcess:
        return False
    return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in held)


@contextmanager
def http(lake, *more):
    """A server of its own process on a free port; gives its address."""
    while True:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        line = [*COMMAND, "--as-of", AS_OF, "--http", "--port", str(port), "--lake", str(lake), *more]
        process = subprocess.Popen(line, env=os.environ | SETTINGS, stderr=subprocess.PIPE)
        while process.poll() is None and not listens(process.pid, port):
            time.sleep(0.02)
        if process.poll() is None:
            break
        complaint = process.communicate()[1]
        assert b"Address already in use" in complaint, complaint  # somebody was faster: another port
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.communicate(timeout=240)


def test_every_tool_answers_over_stdio(lake):
    results = talk(stdio(lake), *EVERY_TOOL)
    assert [result.is_error for result in results] == [False] * len(EVERY_TOOL)


def test_every_tool_answers_over_http_as_over_stdio(lake):
    with http(lake) as address:
        over_http = talk(address, *EVERY_TOOL)
    assert [r.structured_content for r in over_http] == [r.structured_content for r in talk(stdio(lake), *EVERY_TOOL)]


def test_tools_say_what_they_take_and_give(lake):
    async def listed():
        async with Client(server(service(lake))) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools = anyio.run(listed)
    assert set(tools) == {name for name, _ in EVERY_TOOL}
    for tool in tools.values():
        assert tool.description
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations.read_only_hint
    assert set(tools["query"].output_schema["required"]) >= {"data", "gaps", "truncated", "receipt"}


@pytest.mark.parametrize(("tool", "arguments"), EVERY_TOOL[:4], ids=[name for name, _ in EVERY_TOOL[:4]])
def test_every_answer_is_an_envelope_the_gate_passes(lake, tool, arguments):
    told = ask(lake, tool, **arguments)
    assert check_envelope(told, AS_OF) is None
    assert told["data"] or told["gaps"]


def test_the_text_of_an_answer_is_its_structured_content(lake):
    (result,) = talk(server(service(lake)), EVERY_TOOL[0])
    assert json.loads(result.content[0].text) == result.structured_content


def pages(to, tool, **arguments):
    """All pages of an answer, asked for one after the other."""
    found, cursor = [], None
    while True:
        (result,) = talk(to, (tool, arguments | ({"cursor": cursor} if cursor else {})))
        assert not result.is_error, result.content
        found.append(result.structured_content)
        cursor = found[-1]["next_cursor"]
        assert found[-1]["truncated"] is (cursor is not None)
        if cursor is None:
            return found


def test_pages_make_up_the_whole_answer(lake):
    found = pages(server(service(lake)), "query", sql=ALL_NEWS, max_rows=50)
    rows = [row["id"] for page in found for row in page["data"]]
    assert [len(page["data"]) for page in found] == [50, 50, 20]
    assert rows == sorted(set(rows))
    assert len({json.dumps(page["receipt"]) for page in found}) == 1


def test_gaps_come_in_pages_too_and_none_tells_of_the_future(lake):
    found = pages(server(service(lake)), "gaps", max_rows=1)
    assert [gap["locator"] for page in found for gap in page["gaps"]] == ["neo4j:News:bzNews_900"]


@pytest.mark.parametrize(
    ("tool", "arguments", "rows"),
    [
        ("query", {"sql": ALL_NEWS}, 120),
        ("query", {"sql": "SELECT range AS i, repeat('é', 100) AS x FROM range(100) ORDER BY i"}, 100),
        ("gaps", {}, 60),
    ],
)
def test_a_page_holds_whole_rows_within_its_bytes(tmp_path, monkeypatch, tool, arguments, rows):
    lake = Lake(tmp_path / "lake")
    lost = [StagedGap("unverifiable", "created is missing", f"neo4j:News:bzNews_{900 + n}", START) for n in range(60)]
    publish(lake, "news", news(), "news", tuple(lost))
    monkeypatch.setattr("pitlake.mcp.query_service.PAGE_BYTES", 4000)
    door, cursor, found = server(service(lake.root)), None, []
    while not found or cursor:
        (result,) = talk(door, (tool, arguments | {"max_rows": 1000} | ({"cursor": cursor} if cursor else {})))
        told, cursor = result.structured_content, result.structured_content["next_cursor"]
        assert len(result.content[0].text.encode()) <= 4000
        found += told["data"] + told["gaps"]
    assert len(found) == rows


def test_a_row_larger_than_a_page_is_refused_not_cut(lake):
    assert "larger than" in refusal(lake, "query", sql="SELECT repeat('x', 300000) AS long")


def test_an_answer_over_the_limits_is_refused_not_cut(lake):
    assert "limit" in refusal(lake, "query", sql="SELECT * FROM range(200000)")


def moved_by(delay):
    """As many articles more, each so much later."""
    for row in news():
        later = row["created"] + delay
        told = {name: f"{row[name]}00" for name in ("id", "evidence")}
        yield row | told | {"title": "moved", "created": later, "available_at": later}


def test_a_cursor_goes_on_with_the_answer_it_was_given_with(tmp_path):
    lake = small(tmp_path / "lake")
    serving, more = server(service(lake.root)), {"sql": ALL_NEWS, "max_rows": 100}
    (first,) = [one.structured_content for one in talk(serving, ("query", more))]
    publish(lake, "news", moved_by(timedelta(hours=1)), "later")
    (rest,) = [one.structured_content for one in talk(serving, ("query", more | {"cursor": first["next_cursor"]}))]
    assert rest["receipt"] == first["receipt"]
    assert len(first["data"] + rest["data"]) == first["receipt"]["rows"]
    anew = ask(lake.root, "query", **more)["receipt"]
    assert anew["result_sha256"] != first["receipt"]["result_sha256"]
    assert "another one this time" in refusal(lake.root, "query", **more, cursor=first["next_cursor"])


def test_answers_that_go_on_are_remembered_up_to_a_bound(monkeypatch):
    monkeypatch.setattr("pitlake.mcp.query_service.REMEMBERED", 2)
    versions = Versions()
    for number in (1, 2, 3):
        versions.note("question", f"result {number}", number)
    assert [versions.of("question", f"result {number}") for number in (1, 2, 3)] == [None, 2, 3]


def forged(lake, key=KEY, **changes):
    """A cursor like one the server gave, but for some of its fields."""
    given = Cursor.read(ask(lake, "query", sql=ALL_NEWS, max_rows=2)["next_cursor"], KEY)
    return replace(given, **changes).write(key)


@pytest.mark.parametrize("cursor", ["", "x", "WzEsMl0=", "NQ==", "\ud800", "é"])
def test_a_cursor_that_is_none_is_refused(lake, cursor):
    assert "not one of this server's" in refusal(lake, "query", sql=ALL_NEWS, cursor=cursor)


@pytest.mark.parametrize("change", [{"row": 3}, {"row": 10**6}, {"result": "0" * 64}])
def test_a_cursor_that_no_server_signed_is_refused_whatever_it_says(lake, change):
    otherwise = forged(lake, b"another key", **change)
    told, signed = (json.loads(base64.urlsafe_b64decode(text)) for text in (otherwise, forged(lake)))
    made = [
        otherwise,
        *(base64.b64encode(json.dumps(one).encode()).decode() for one in (told[:3], told[:3] + signed[3:])),
    ]
    texts = {refusal(lake, "query", sql=ALL_NEWS, cursor=cursor) for cursor in made}
    assert texts == {"cursor: is not one of this server's; leave it out to start at the beginning"}


def test_a_server_does_not_take_the_cursors_of_another_unless_they_share_a_key(lake, monkeypatch):
    def carried():
        one, other = (server(service(lake, cursor_key=cursor_key())) for _ in range(2))
        (first,) = talk(one, ("query", {"sql": ALL_NEWS}))
        (second,) = talk(other, ("query", {"sql": ALL_NEWS, "cursor": first.structured_content["next_cursor"]}))
        return not second.is_error

    monkeypatch.delenv("PITLAKE_CURSOR_KEY", raising=False)
    assert not carried()
    monkeypatch.setenv("PITLAKE_CURSOR_KEY", "k" * 32)
    assert carried()
    monkeypatch.setenv("PITLAKE_CURSOR_KEY", "short")
    with pytest.raises(BadInput, match="PITLAKE_CURSOR_KEY"):
        cursor_key()


def test_a_server_pinned_to_a_version_answers_from_it_alone(tmp_path):
    lake = small(tmp_path / "lake")
    cursor = forged(lake.root)
    publish(lake, "news", moved_by(timedelta(hours=1)), "later")
    pinned = [server(service(lake.root, version=version)) for version in (1, 2)]
    same, other = (talk(one, ("query", {"sql": ALL_NEWS, "cursor": cursor}))[0] for one in pinned)
    assert not same.is_error
    assert "another one this time" in other.content[0].text


def test_a_version_that_is_gone_is_told_of_in_the_same_words_whatever_is_gone(tmp_path):
    lake = small(tmp_path / "lake")
    serving, first = server(service(lake.root)), {"sql": ALL_NEWS, "max_rows": 2}
    (given,) = talk(serving, ("query", first))
    publish(lake, "news", moved_by(timedelta(hours=1)), "later")
    lake.compact("news", before="2030-01")
    lake.vacuum(timedelta(0), grace=timedelta(0), dry_run=False)
    (gone,) = talk(serving, ("query", first | {"cursor": given.structured_content["next_cursor"]}))
    (never,) = talk(server(service(lake.root, version=999)), ("query", first))
    (text,) = {one.content[0].text for one in (gone, never) if one.is_error}
    assert not any(told in text for told in ("1", "2", "3", "999", "vacuum", "files", "news", str(lake.root)))


APRIL = "2024-04-05T00:00:00Z"


def astray(root, later):
    """A lake's files that hold rows before APRIL, one of them also after it; or later, those that hold none."""
    lake, looks = Lake(root), [instant("2024-04-10T00:00:00Z"), instant("2024-07-01T00:00:00Z")]
    for number, look in enumerate(looks):
        seen = [one for one in news() if (one["available_at"] < looks[0]) is (number == 0)]
        publish(lake, "news", seen, f"run-{number}", LOST[number : number + 1], look)
    files = [file for table in lake.snapshot().tables.values() for file in table.files]
    return [Path(file.path) for file in files if (file.lo > instant(APRIL)) is later]


def rewritten(path):
    """Sound Parquet with fewer rows than the lake's version says."""
    pq.write_table(pq.read_table(path, partitioning=None).slice(1), path)


HARMS = {
    "missing": Path.unlink,
    "damaged": lambda path: path.write_bytes(b"PAR1 no more"),
    "cut off": lambda path: os.truncate(path, path.stat().st_size // 2),
    "rewritten": rewritten,
}


@pytest.mark.parametrize("harm", HARMS)
def test_what_became_of_files_after_the_instant_is_told_at_no_door(tmp_path, harm):
    later = astray(tmp_path / "lake", later=True)
    asked = partial(talk, server(service(tmp_path / "lake", as_of=instant(APRIL))), *EVERY_TOOL)
    before = asked()
    assert every(not one.is_error for one in before)
    assert {path.parent.name for path in later} >= {"available_month=2024-04", "available_month=2024-05"}
    for path in later:
        HARMS[harm](path)
    assert [one.content for one in asked()] == [one.content for one in before]
    with connect(APRIL, lake=tmp_path / "lake") as session:
        assert session.sql("SELECT max(available_at) < $1 AS past FROM news", [instant(APRIL)]).rows() == [(True,)]


@pytest.mark.parametrize("harm", HARMS)
def test_an_agent_is_told_in_the_same_words_whatever_befell_a_file_that_reaches_beyond_the_instant(tmp_path, harm):
    for path in astray(tmp_path / "lake", later=False):
        HARMS[harm](path)
    told = talk(
        server(service(tmp_path / "lake")), ("query", {"sql": ALL_NEWS, "pit": APRIL}), ("gaps", {"pit": APRIL})
    )
    assert [(one.is_error, one.content[0].text) for one in told] == [(True, GONE)] * 2


def test_a_cursor_of_another_question_or_answer_is_refused(lake):
    assert "another question" in refusal(lake, "query", sql=ALL_NEWS, cursor=forged(lake, question="other"))
    assert "another one this time" in refusal(lake, "query", sql=ALL_NEWS, cursor=forged(lake, result="0" * 64))


def test_a_cursor_does_not_go_on_at_another_instant(lake):
    first = ask(lake, "query", sql=ALL_NEWS)
    text = refusal(lake, "query", sql=ALL_NEWS, pit="2024-03-01T00:00:00Z", cursor=first["next_cursor"])
    assert "another question" in text


def test_a_pit_goes_back_in_time_and_up_to_the_server_s_own(lake):
    early = ask(lake, "query", sql=ALL_NEWS, pit="2024-01-03T10:00:00-05:00")
    assert [row["id"] for row in early["data"]] == ["bzNews_0", "bzNews_1"]
    assert ask(lake, "query", sql=ALL_NEWS, pit=AS_OF) == ask(lake, "query", sql=ALL_NEWS)


@pytest.mark.parametrize(
    ("pit", "complaint"),
    [
        ("2024-05-01T00:00:00.000001Z", "later than"),
        ("2099-01-01T00:00:00Z", "later than"),
        ("2024-04-01", "date_only"),
        ("2024-04-01T00:00:00", "naive"),
        ("now", "not_iso"),
        ("", "empty"),
        ("0001-01-01T00:00:00Z", "pit: out_of_range"),
    ],
)
@pytest.mark.parametrize(("tool", "arguments"), EVERY_TOOL[:4], ids=[name for name, _ in EVERY_TOOL[:4]])
def test_a_pit_that_is_later_or_no_instant_gets_no_data(lake, tool, arguments, pit, complaint):
    assert complaint in refusal(lake, tool, pit=pit, **arguments)


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("query", {}, "sql"),
        ("query", {"sql": 7}, "sql"),
        ("query", {"sql": "SELEC 1"}, "Parser Error"),
        ("query", {"sql": "SELECT * FROM nowhere"}, "nowhere"),
        ("query", {"sql": "SELECT * FROM event_returns"}, "event_returns"),
        ("query", {"sql": "SELECT current_timestamp"}, None),
        ("query", {"sql": ALL_NEWS, "as_of": "2024-01-01T00:00:00Z"}, "as_of"),
        ("query", {"sql": ALL_NEWS, "max_rows": 0}, "max_rows"),
        ("query", {"sql": ALL_NEWS, "max_rows": 100000}, "max_rows"),
        ("query", {"sql": "SELECT $x AS x", "params": {"y": 1}}, "parameter"),
        ("query", {"sql": "SELECT id, available_at FROM news"}, "available_at_source"),
        ("query", {"sql": "SELECT 1 AS daily_return"}, "forward returns"),
        ("query", {"sql": "SELECT 1 AS a, 2 AS a"}, "one name"),
        ("run_query", {"name": "news_newest"}, "there is no query"),
        ("run_query", {"name": "entity_company"}, "ticker"),
        ("run_query", {"name": "news_latest", "params": {"ticker": "NOG", "pit": AS_OF}}, "no such parameter"),
        ("run_query", {"name": "vector_news", "params": {"seed_id": "bzNews_149"}}, "seed_id"),
        ("search", {"query": " "}, "query"),
        ("search", {"query": "oil", "within": "dreams"}, "within"),
        ("search", {"query": "oil", "within": "concepts"}, "ticker"),
        ("gaps", {"dataset": "sunspots"}, "sunspots"),
        ("gaps", {"dataset": ""}, "dataset"),
        ("search", {"query": "!!!"}, "query: no word"),
        ("run_query", {"name": "transcript_search_qa", "params": {"ticker": "NOG", "query": "OR"}}, "query: no word"),
        ("describe", {"name": "sunspots"}, "sunspots"),
        ("no_such_tool", {}, "Unknown tool"),
    ],
    ids=lambda value: value if isinstance(value, str) else json.dumps(value)[:60],
)
def test_bad_input_is_an_error_that_says_what_to_do(lake, monkeypatch, tool, arguments, complaint):
    monkeypatch.delenv("PITLAKE_EMBEDDER", raising=False)
    if complaint is None:
        assert ask(lake, tool, **arguments)["data"][0]["available_at"] <= AS_OF
    else:
        assert complaint in refusal(lake, tool, **arguments)


def test_what_one_call_does_no_other_call_sees(lake):
    assert (
        ask(lake, "query", sql="CREATE OR REPLACE VIEW news AS SELECT 1 AS id; SELECT id FROM news")["data"][0]["id"]
        == 1
    )
    assert ask(lake, "query", sql=ALL_NEWS)["data"][0]["id"] == "bzNews_0"


def test_a_forged_watermark_is_not_believed(lake):
    forged = "CREATE OR REPLACE VIEW lake_info AS SELECT 'news' AS dataset, TIMESTAMPTZ '1999-01-01' AS watermark"
    assert ask(lake, "query", sql=f"{forged}; SELECT 1 AS n")["data"][0]["available_at"] == "2024-04-30T21:00:00Z"


def test_describe_tells_of_a_dataset_and_of_a_query(lake):
    (dataset,) = ask(lake, "describe", name="news")["datasets"]
    assert {column["name"] for column in dataset["columns"]} >= {"id", "title", "available_at"}
    (query,) = ask(lake, "describe", name="news_latest")["queries"]
    assert [parameter["name"] for parameter in query["parameters"]] == ["ticker", "limit"]


def test_an_empty_answer_explains_itself_as_a_gap(lake):
    told = ask(lake, "run_query", name="news_latest", params={"ticker": "ZZZ"})
    assert (told["data"], told["gaps"][0]["type"]) == ([], "no_data")


def test_rows_of_an_instant_before_all_data_are_a_gap_and_no_row(lake):
    told = ask(lake, "query", sql="SELECT count(*) AS n FROM news", pit="1990-01-01T00:00:00Z")
    assert told["data"] == []
    assert [gap["type"] for gap in told["gaps"]] == ["no_data"]
    assert "1990-01-01T00:00:00Z" in told["gaps"][0]["reason"]
    assert check_envelope(told, "1990-01-01T00:00:00Z") is None


def test_receipts_are_kept_when_the_server_is_told_to(tmp_path):
    lake = small(tmp_path / "lake")
    (result,) = talk(server(service(lake.root, keep_receipts=True)), EVERY_TOOL[1])
    kept = receipts.find(result.structured_content["receipt"]["result_sha256"], lake.root)
    assert len(receipts.replay(kept, lake)) == len(result.structured_content["data"])


def test_open_mode_is_asked_for_by_name_and_shows_outcomes(lake):
    opened = server(service(lake, as_of=None))
    outcomes, narrowed, refused = talk(
        opened,
        ("query", {"sql": "SELECT count(*) AS n FROM event_returns"}),
        ("query", {"sql": ALL_NEWS, "pit": "2024-01-02T23:00:00Z"}),
        ("query", {"sql": "SELECT count(*) AS n FROM event_returns", "pit": AS_OF}),
    )
    assert outcomes.structured_content["data"][0]["n"] == 0
    assert [row["id"] for row in narrowed.structured_content["data"]] == ["bzNews_0"]
    assert refused.is_error


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "--as-of"),
        (["--as-of", AS_OF, "--open"], "--open"),
        (["--as-of", "2024-05-01"], "date_only"),
        (["--as-of", AS_OF, "--http", "--host", "0.0.0.0"], "--allow-host"),
        (["--as-of", AS_OF, "--http", "--port", "99999"], "--port"),
        (["--as-of", AS_OF, "--http", "--port", "{taken}"], "--port"),
        (["--as-of", AS_OF, "--http", "--host", "192.0.2.1", "--allow-host", "x"], "--host"),
        (["--as-of", AS_OF, "--http", "--host", "no.such.host.example", "--allow-host", "x"], "--host"),
    ],
)
def test_a_server_that_may_not_start_says_why(lake, arguments, complaint):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [*COMMAND, *(one.format(taken=port) for one in arguments), "--lake", str(lake)],
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=240,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_lake_that_is_not_there_is_refused_at_the_start(tmp_path):
    line, environment = [*COMMAND, "--as-of", AS_OF, "--lake", str(tmp_path)], os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 1
    assert "no lake" in done.stderr


def test_a_page_in_a_browser_cannot_reach_the_server_by_another_name(lake):
    with http(lake) as address:
        headers = {"Host": "evil.example", "Accept": "application/json, text/event-stream"}
        answer = requests.post(address, json={}, headers=headers, timeout=240)
    assert answer.status_code in (400, 403, 421)
    assert "data" not in answer.text


SLOW = "SELECT count(*) AS n FROM range(100000000000) numbers(i) WHERE hash(i) = 7"


def test_slow_questions_hold_up_no_quick_one(lake, monkeypatch):
    monkeypatch.setattr("pitlake.mcp.query_service.LIMITS", replace(LIMITS, seconds=5))
    monkeypatch.setattr(lanes, "WAITING", lanes.SLOW)
    asked = service(lake)
    ask_it = partial(asked.ask, pit=None, max_rows=None, cursor=None)
    with ThreadPoolExecutor(lanes.QUICK * 2) as clients:
        slow = [clients.submit(ask_it, ServiceQuestion(sql=SLOW)) for _ in range(lanes.QUICK * 2)]
        while sum(one.done() for one in slow) < len(slow) - lanes.SLOW:  # what no lane has room for is refused
            time.sleep(0.05)
        assert ask_it(ServiceQuestion(sql=ALL_NEWS)).page.payload["data"]
        assert not all(one.done() for one in slow)
    refused = [str(one.exception()) for one in slow if isinstance(one.exception(), SessionError)]
    assert sum("limit of 5 seconds" in one for one in refused) == lanes.SLOW
    assert sum("slow questions are being answered" in one for one in refused) == len(slow) - lanes.SLOW


def test_a_question_that_is_slow_at_first_is_answered_in_the_slow_lane(lake, monkeypatch):
    monkeypatch.setattr(lanes, "PATIENCE", 0.3)
    told = ask(lake, "query", sql="SELECT count(*) AS n FROM range(300_000_000) r(i) WHERE hash(i) = 7")
    assert told["data"][0]["n"] == 0
    assert told["receipt"]["rows"] == 1


def test_slow_questions_wait_in_a_bounded_line(lake, monkeypatch):
    monkeypatch.setattr(lanes, "PATIENCE", 0.01)
    monkeypatch.setattr(lanes, "WAITING", 0)
    with pytest.raises(SessionError, match="slow questions are being answered"):
        service(lake).ask(ServiceQuestion(sql=SLOW), pit=None, max_rows=None, cursor=None)
