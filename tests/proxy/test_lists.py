"""Tools that list in pages, up to a limit or by ID: no answer depends on how many items came later."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

import anyio
import pytest
from mcp.server.mcpserver import MCPServer

from pitlake.errors import BadInput
from pitlake.proxy import server as proxy_server
from pitlake.proxy.policy import from_members, parse
from tests.proxy.worlds import ask, proxied

ITEM = 'published = "at"\nfields = ["id"]\nkey = "id"\ntimezone = "UTC"\n'
POLICY = f"""
server = "list"
reviewed = true
[tools.by_token]
items = "results[]"
pages = {{ argument = "token", next = "next" }}
{ITEM}
[tools.by_number]
items = "results[]"
pages = {{ argument = "page", first = 1 }}
limit = {{ argument = "limit", most = 4 }}
{ITEM}
[tools.by_offset]
items = "results[]"
pages = {{ argument = "offset", step = 3 }}
{ITEM}
[tools.newest]
items = "results[]"
limit = {{ argument = "limit", most = 1000 }}
{ITEM}
[tools.one_item]
arguments = ["number"]
{ITEM}
"""
HONEST = [{"id": f"honest {number}", "at": f"2024-02-{14 - number:02}T10:00:00Z"} for number in range(12)]


def listing(later_count):
    """Return a server of twelve items up to the cut-off and this many later items, newest first."""
    items = [{"id": f"FUTURE {n}", "at": f"2024-03-{n % 28 + 1:02}"} for n in range(later_count)] + HONEST
    tools = MCPServer("list")
    size = 3

    @tools.tool()
    def by_token(token: str = "0") -> dict:
        end = int(token) + size
        return {"results": items[int(token) : end], "next": str(end) if end < len(items) else None}

    @tools.tool()
    def by_number(page: int = 1, limit: int = 10) -> dict:
        return {"results": items[(page - 1) * limit : page * limit], "pages": len(items) // limit}

    @tools.tool()
    def by_offset(offset: int = 0) -> dict:
        return {"results": items[offset : offset + size]}

    @tools.tool()
    def newest(limit: int = 10) -> dict:
        return {"results": items[:limit], "total": len(items)}

    @tools.tool()
    def one_item(number: str) -> dict:
        return next(item for item in items if item["id"] == number)

    return tools


async def conversation(later_count, tape_file, requests):
    async with proxied(listing(later_count), parse(POLICY), tape_file) as (client, reader):
        for tool, arguments in requests:
            answer = await ask(client, reader, tool, arguments)
            while (cursor := (answer.structured_content or {}).get("next_cursor")) is not None:
                answer = await ask(client, reader, tool, arguments | {"cursor": cursor})
        return "\n".join(reader.texts)


REQUESTS = [
    ("by_token", {}), ("by_number", {}), ("by_number", {"limit": 1}), ("by_offset", {}), ("newest", {}),
    ("newest", {"limit": 5}), ("newest", {"limit": 2}), ("one_item", {"number": "honest 3"}),
    ("one_item", {"number": "FUTURE 0"}),
]  # fmt: skip


def test_no_answer_depends_on_the_number_of_later_items(tmp_path, monkeypatch):
    monkeypatch.setattr(proxy_server, "ROWS_OF_A_PAGE", 5)
    texts = [anyio.run(conversation, count, tmp_path / f"{count}.jsonl", REQUESTS) for count in (0, 1, 7, 23)]
    assert texts[0].count("honest 11") == 2 * 7  # in text and in structured content
    assert "FUTURE" not in texts[0].replace('"FUTURE 0"', "")
    assert len(set(texts)) == 1


@pytest.mark.parametrize("wrapped", [lambda token: [token], lambda token: {"offset": token}])
def test_a_list_with_an_unusable_page_token_does_not_depend_on_later_items(tmp_path, wrapped):
    policy = parse(POLICY.partition("[tools.by_number]")[0])

    async def answer(later_count):
        tools, items = MCPServer("list"), [{"id": "FUTURE", "at": "2024-03-01"}] * later_count + HONEST

        @tools.tool()
        def by_token(token: str = "0") -> dict:
            return {"results": items[int(token) : int(token) + 3], "next": wrapped(int(token) + 3)}

        async with proxied(tools, policy, tmp_path / f"{later_count}.jsonl") as (client, reader):
            return (await ask(client, reader, "by_token", {})).structured_content

    assert anyio.run(answer, 0) == anyio.run(answer, 1) == anyio.run(answer, 7)


def test_no_answer_depends_on_items_added_while_a_list_is_read(tmp_path):
    head, _, tool = POLICY.partition("[tools.by_offset]")
    policy = parse(f"{head.partition('[')[0]}[tools.by_offset]{tool.partition('[tools.newest]')[0]}")

    async def rows(later_count):
        """Return the list's rows from a server that gains this many later items after each page."""
        tools, size, items = MCPServer("list"), 3, [*HONEST]

        @tools.tool()
        def by_offset(offset: int = 0) -> dict:
            page = items[offset : offset + size]
            items[:0] = [{"id": f"FUTURE {len(items) + n}", "at": "2024-03-01"} for n in range(later_count)]
            return {"results": page}

        async with proxied(tools, policy, tmp_path / f"{later_count}.jsonl") as (client, reader):
            return (await ask(client, reader, "by_offset", {})).structured_content["data"]

    assert [row["id"] for row in anyio.run(rows, 0)] == [item["id"] for item in HONEST]
    assert anyio.run(rows, 1) == anyio.run(rows, 2) == anyio.run(rows, 0)


def test_a_list_not_read_to_its_end_shows_no_items(tmp_path, monkeypatch):
    monkeypatch.setattr(proxy_server, "MOST_PAGES_WITHOUT_ROWS", 2)
    text = anyio.run(conversation, 23, tmp_path / "run.jsonl", [("by_token", {})])
    assert "honest" not in text


def test_a_cursor_of_another_call_or_a_forged_cursor_is_refused(tmp_path):
    async def asked():
        async with proxied(listing(7), parse(POLICY), tmp_path / "run.jsonl") as (client, reader):
            first = await ask(client, reader, "newest", {"limit": 2})
            cursor = first.structured_content["next_cursor"]
            wrong = await ask(client, reader, "newest", {"limit": 3, "cursor": cursor})
            pages = ("x", *(_with_page(cursor, page) for page in (1, 1.5, 10**9, None)), _with_page(cursor, 2, "more"))
            bad = [await ask(client, reader, "newest", {"limit": 2, "cursor": page}) for page in pages]
            return first.structured_content, wrong.content[0].text, {answer.content[0].text for answer in bad}

    first, wrong, bad = anyio.run(asked)
    assert first["truncated"]
    assert "belongs to another call" in wrong
    assert bad == {"cursor: belongs to no answer; leave it out to start at the beginning"}


def _with_page(cursor, page, *more):
    _, *hashes = json.loads(urlsafe_b64decode(cursor))
    return urlsafe_b64encode(json.dumps([page, *hashes, *more]).encode()).decode()


@pytest.mark.parametrize(
    "change",
    [
        {"pages": {"argument": "page", "next": "next", "first": 1}},
        {"pages": {"argument": "page", "step": 0}},
        {"pages": {"argument": 1}},
        {"limit": {"argument": "limit"}},
        {"limit": {"argument": "limit", "most": 0}},
        {"limit": {"argument": "limit", "most": "9"}},
        {"limit": {"argument": "limit", "most": 9}, "arguments": ["limit"]},
        {"limit": {"argument": "limit", "most": 9}, "arguments": ["cursor"]},
    ],
    ids=json.dumps,
)
def test_an_inconsistent_paging_policy_is_refused(change):
    with pytest.raises(BadInput):
        from_members({"published": "at", "fields": ["id"]} | change)
