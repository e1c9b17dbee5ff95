"""Answers from the MCP server in several pages: their cursors, and the version that they are read from."""

import base64
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from pitlake.errors import BadInput
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from pitlake.mcp.query_service import Cursor, Versions, cursor_key
from pitlake.mcp.server import server
from tests.doors.conftest import START, news, publish, small
from tests.doors.mcp_client import ALL_NEWS, KEY, ask, refusal, service, talk


def pages(to, tool, **arguments):
    """Return all pages of an answer, requested one after the other."""
    actual, cursor = [], None
    while True:
        (result,) = talk(to, (tool, arguments | ({"cursor": cursor} if cursor else {})))
        assert not result.is_error, result.content
        actual.append(result.structured_content)
        cursor = actual[-1]["next_cursor"]
        assert actual[-1]["truncated"] is (cursor is not None)
        if cursor is None:
            return actual


def test_pages_make_up_the_whole_answer(lake):
    result = pages(server(service(lake)), "query", sql=ALL_NEWS, max_rows=50)
    rows = [row["id"] for page in result for row in page["data"]]
    assert [len(page["data"]) for page in result] == [50, 50, 20]
    assert rows == sorted(set(rows))
    assert len({json.dumps(page["receipt"]) for page in result}) == 1


def test_gaps_are_paged_and_none_is_from_the_future(lake):
    result = pages(server(service(lake)), "gaps", max_rows=1)
    assert [gap["locator"] for page in result for gap in page["gaps"]] == ["neo4j:News:bzNews_900"]


@pytest.mark.parametrize(
    ("tool", "arguments", "rows"),
    [
        ("query", {"sql": ALL_NEWS}, 120),
        ("query", {"sql": "SELECT range AS i, repeat('é', 100) AS x FROM range(100) ORDER BY i"}, 100),
        ("gaps", {}, 60),
    ],
)
def test_a_page_holds_whole_rows_within_its_byte_limit(tmp_path, monkeypatch, tool, arguments, rows):
    lake = Lake(tmp_path / "lake")
    lost = [StagedGap("unverifiable", "created is missing", f"neo4j:News:bzNews_{900 + n}", START) for n in range(60)]
    publish(lake, "news", news(), "news", tuple(lost))
    monkeypatch.setattr("pitlake.mcp.query_service.PAGE_BYTES", 4000)
    door, cursor, actual = server(service(lake.root)), None, []
    while not actual or cursor:
        (result,) = talk(door, (tool, arguments | {"max_rows": 1000} | ({"cursor": cursor} if cursor else {})))
        reply, cursor = result.structured_content, result.structured_content["next_cursor"]
        assert len(result.content[0].text.encode()) <= 4000
        actual += reply["data"] + reply["gaps"]
    assert len(actual) == rows


def test_a_row_larger_than_a_page_is_refused_not_cut(lake):
    assert "larger than" in refusal(lake, "query", sql="SELECT repeat('x', 300000) AS long")


def test_an_answer_over_the_limits_is_refused_not_cut(lake):
    assert "limit" in refusal(lake, "query", sql="SELECT * FROM range(200000)")


def moved_by(delay):
    """Yield more articles, each later than an existing article by this delay."""
    for row in news():
        later = row["created"] + delay
        reply = {name: f"{row[name]}00" for name in ("id", "evidence")}
        yield row | reply | {"title": "moved", "created": later, "available_at": later}


def test_a_cursor_continues_its_answer_after_the_lake_has_changed(tmp_path):
    lake = small(tmp_path / "lake")
    serving, more = server(service(lake.root)), {"sql": ALL_NEWS, "max_rows": 100}
    (first,) = [each.structured_content for each in talk(serving, ("query", more))]
    publish(lake, "news", moved_by(timedelta(hours=1)), "later")
    (rest,) = [each.structured_content for each in talk(serving, ("query", more | {"cursor": first["next_cursor"]}))]
    assert rest["receipt"] == first["receipt"]
    assert len(first["data"] + rest["data"]) == first["receipt"]["rows"]
    anew = ask(lake.root, "query", **more)["receipt"]
    assert anew["result_sha256"] != first["receipt"]["result_sha256"]
    assert "has changed since the last page" in refusal(lake.root, "query", **more, cursor=first["next_cursor"])


def test_versions_of_paged_answers_are_remembered_up_to_a_limit(monkeypatch):
    monkeypatch.setattr("pitlake.mcp.query_service.REMEMBERED", 2)
    versions = Versions()
    for number in (1, 2, 3):
        versions.note("question", f"result {number}", number)
    assert [versions.of("question", f"result {number}") for number in (1, 2, 3)] == [None, 2, 3]


def forged(lake, key=KEY, **changes):
    """Return a cursor like one of the server's, with some fields changed."""
    inputs = Cursor.read(ask(lake, "query", sql=ALL_NEWS, max_rows=2)["next_cursor"], KEY)
    return replace(inputs, **changes).write(key)


@pytest.mark.parametrize("cursor", ["", "x", "WzEsMl0=", "NQ==", "\ud800", "é"])
def test_a_malformed_cursor_is_refused(lake, cursor):
    assert "not issued by this server" in refusal(lake, "query", sql=ALL_NEWS, cursor=cursor)


@pytest.mark.parametrize("change", [{"row": 3}, {"row": 10**6}, {"result": "0" * 64}])
def test_a_cursor_with_a_wrong_signature_is_refused(lake, change):
    otherwise = forged(lake, b"another key", **change)
    reply, signed = (json.loads(base64.urlsafe_b64decode(text)) for text in (otherwise, forged(lake)))
    outcome = [
        otherwise,
        *(base64.b64encode(json.dumps(each).encode()).decode() for each in (reply[:3], reply[:3] + signed[3:])),
    ]
    texts = {refusal(lake, "query", sql=ALL_NEWS, cursor=cursor) for cursor in outcome}
    assert texts == {"cursor: was not issued by this server; leave it out to start at the beginning"}


def test_servers_accept_each_others_cursors_only_with_a_shared_key(lake, monkeypatch):
    def carried():
        item, other = (server(service(lake, cursor_key=cursor_key())) for _ in range(2))
        (first,) = talk(item, ("query", {"sql": ALL_NEWS}))
        (second,) = talk(other, ("query", {"sql": ALL_NEWS, "cursor": first.structured_content["next_cursor"]}))
        return not second.is_error

    monkeypatch.delenv("PITLAKE_CURSOR_KEY", raising=False)
    assert not carried()
    monkeypatch.setenv("PITLAKE_CURSOR_KEY", "k" * 32)
    assert carried()
    monkeypatch.setenv("PITLAKE_CURSOR_KEY", "short")
    with pytest.raises(BadInput, match="PITLAKE_CURSOR_KEY"):
        cursor_key()


def test_a_server_pinned_to_a_version_answers_only_from_that_version(tmp_path):
    lake = small(tmp_path / "lake")
    cursor = forged(lake.root)
    publish(lake, "news", moved_by(timedelta(hours=1)), "later")
    pinned = [server(service(lake.root, version=version)) for version in (1, 2)]
    same, other = (talk(each, ("query", {"sql": ALL_NEWS, "cursor": cursor}))[0] for each in pinned)
    assert not same.is_error
    assert "has changed since the last page" in other.content[0].text


def test_a_missing_version_gives_the_same_error_whatever_the_cause(tmp_path):
    lake = small(tmp_path / "lake")
    serving, first = server(service(lake.root)), {"sql": ALL_NEWS, "max_rows": 2}
    (inputs,) = talk(serving, ("query", first))
    publish(lake, "news", moved_by(timedelta(hours=1)), "later")
    lake.compact("news", before="2030-01")
    lake.vacuum(timedelta(0), grace=timedelta(0), dry_run=False)
    (gone,) = talk(serving, ("query", first | {"cursor": inputs.structured_content["next_cursor"]}))
    (never,) = talk(server(service(lake.root, version=999)), ("query", first))
    (text,) = {each.content[0].text for each in (gone, never) if each.is_error}
    assert not any(reply in text for reply in ("1", "2", "3", "999", "vacuum", "files", "news", str(lake.root)))


def test_a_cursor_of_another_question_or_answer_is_refused(lake):
    assert "another question" in refusal(lake, "query", sql=ALL_NEWS, cursor=forged(lake, question="other"))
    assert "has changed since the last page" in refusal(
        lake, "query", sql=ALL_NEWS, cursor=forged(lake, result="0" * 64)
    )


def test_a_cursor_of_another_pit_is_refused(lake):
    first = ask(lake, "query", sql=ALL_NEWS)
    text = refusal(lake, "query", sql=ALL_NEWS, pit="2024-03-01T00:00:00Z", cursor=first["next_cursor"])
    assert "another question" in text
