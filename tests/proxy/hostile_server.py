"""An MCP server that leaks the future in every way it can. It writes JSON-RPC by hand, so that no library prevents it.

Run as `python hostile_server.py NAME SEED`. It answers in the recorded format of the server of the policy NAME.
Everything from after T contains CANARY or PRICE. Items up to T are honest.
"""

import base64
import json
import random
import sys
from zlib import crc32

CANARY, PRICE = "CANARY", 987654.321
BEFORE, AFTER, LONG_AFTER = "2024-02-14T15:30:00Z", "2024-02-16T15:30:00Z", "2025-03-01T10:00:00Z"
TEXT = {"type": "string"}
TOOLS = {
    "brave-search": {
        "brave_news_search": ["query", "country", "search_lang", "count", "offset", "safesearch", "freshness",
                              "extra_snippets"],
        "brave_web_search": ["query", "freshness"],
    },
    "alpaca": {
        "get_stock_bars": ["symbols", "start", "end", "asof", "timeframe", "adjustment", "limit", "feed", "sort"],
        "get_news": ["symbols", "start", "end", "limit", "sort", "include_content", "page_token"],
        "get_stock_snapshot": ["symbols"],
    },
    "sec-edgar": {
        "get_recent_filings": ["identifier", "form_type", "days", "limit"],
        "get_filing_content": ["identifier", "accession_number", "offset", "max_chars"],
        "get_company_facts": ["identifier"],
    },
}  # fmt: skip
# The names of an item's members by tool: its publication, another time, two texts, a figure.
MEMBERS = {
    "brave_news_search": ("page_age", "updated", "title", "description", None),
    "get_stock_bars": ("t", "u", "x", "y", "c"),
    "get_news": ("created_at", "updated_at", "headline", "summary", None),
    "get_recent_filings": ("filing_date", "amended_at", "company_name", "file_number", None),
    "get_filing_content": ("filing_date", "amended_at", "url", "form_type", None),
}
# Bars have no texts. The text of a filing may mention later days, and does not change after the filing.
UNREAD = ("get_stock_bars", "get_filing_content")


def item(tool, number, when, text, **more):
    """Return an item in a tool's format, with its publication time and texts. `more` overrides members."""
    published, _, first, second, figure = MEMBERS[tool]
    members = {
        "brave_news_search": {"url": f"https://example.org/{number}", "age": "2 hours ago", "breaking": False},
        "get_stock_bars": {"o": 1.0, "h": 2.0, "l": 0.5, "c": 1.5, "v": 10, "n": 3, "vw": 1.4},
        "get_news": {"id": number, "author": "a", "source": "s", "symbols": ["AAPL"], "url": f"https://e.org/{number}",
                     "updated_at": when},
        "get_recent_filings": {"accession_number": f"0000-24-{number}", "form_type": "8-K", "cik": "1"},
        "get_filing_content": {"accession_number": f"0000-24-{number}", "content": text, "offset": 0, "next_offset": 9},
    }[tool]  # fmt: skip
    members = members | {first: text, second: text, published: when}
    if figure and CANARY in text:
        members |= {figure: PRICE}
    return members | more


def tricks(tool):
    """Return every way to plant the future, by name: the items to return, including honest ones."""
    published, other = MEMBERS[tool][:2]
    honest = item(tool, "honest", BEFORE, "calm")
    bad = f"{CANARY} profits fell"

    def planted(when=BEFORE, text=bad, **more):
        return [honest, item(tool, f"n{crc32(repr((when, text, more)).encode())}", when, text, **more)]

    def without(member, **more):
        return [honest, {name: value for name, value in (item(tool, "w", BEFORE, bad) | more).items()
                         if name != member and (name != "updated_at" or member != published)}]  # fmt: skip

    deep = bad
    for _ in range(300 if tool not in ("get_stock_bars", "get_news") else 100):  # the protocol refuses a deeper list
        deep = [deep]
    plain = {
        "honest": [honest],
        "after": planted(AFTER),
        "long after": planted(LONG_AFTER),
        "a second after": planted("2024-02-15T21:00:01Z"),
        "in another zone": planted("2024-02-15T21:30:00+00:00"),
        "that day": planted("2024-02-15"),
        "that midnight": planted("2024-02-15T00:00:00"),
        "that midnight in UTC": planted("2024-02-15T00:00:00Z"),
        "undated": without(published),
        "null": planted(None),
        "empty": planted(""),
        "vague": planted("yesterday"),
        "relative": planted("3 hours ago"),
        "zero": planted("1970-01-01T00:00:00Z"),
        "year one": planted("0001-01-01"),
        "count": planted(1708200000),
        "count of milliseconds": planted(1708200000000),
        "count as text": planted("1708200000"),
        "impossible": planted("2024-02-30T10:00:00Z"),
        "list of times": planted([BEFORE, AFTER]),
        "doubly dated": planted(**{other: AFTER}),
        "doubly dated by a date": planted(**{other: "2024-03-01"}),
        "doubly dated by mail": planted(**{other: "Fri, 16 Feb 2024 10:00:00 GMT"}),
        "doubly dated by a count": planted(last_modified=1708200000),
        "doubly dated compactly": planted(edited="20240216T103000"),
        "nested time": planted(comments=[{"text": bad, "posted_at": AFTER}]),
        "deeply nested time": planted(thread={"a": {"b": [{"c": {"when": AFTER}}]}}),
        "time as a key": planted(history={AFTER: bad}),
        "in a member nobody asked for": [honest | {"price_now": PRICE, "note": bad}],
        "too deep": planted(text="calm", deep=deep),
        "forward return": planted(text="calm", daily_stock=PRICE),
        "stamped as ours": planted(AFTER, available_at=BEFORE, available_at_source="provider_metadata"),
        "not an object": [honest, bad, [bad], 7],
        "in a key": [honest | {bad: 1}],
        "empty list": [],
    }
    edits = {
        "edit in the text": planted(text=f"Updated March 5, 2024: {bad}"),
        "edit in the text, shortly": planted(text=f"(5 Mar 2024) {bad}"),
        "edit in the text, in ISO": planted(text=f"{bad} [2024-03-05]"),
        "edit in the text, American": planted(text=f"03/05/2024 {bad}"),
        "edit in the text, by month": planted(text=f"As of April 2024, {bad}"),
        "edit in the text, wide": planted(text=f"２０２４-０３-０５ {bad}"),
    }
    bars = {"bar of that day": planted("2024-02-15T05:00:00Z")} if tool == "get_stock_bars" else {}
    return plain | bars | ({} if tool in UNREAD else edits)


SHAPES = ("plain", "facets", "image", "audio", "link", "resource", "prose", "torn", "twice", "disagree", "error",
          "refusal", "malformed", "asks", "page", "elicits", "meta")  # fmt: skip


def wrapped(name, tool, items, shape):
    """Return a server's answer with these items, and with the leaks of the shape."""
    bad = f"{CANARY} {PRICE}"
    extra = {"facets": {"total": 12345, "newest": bad}}.get(shape, {})
    answer = {"content": [], "isError": False}
    if name == "brave-search":
        answer["content"] = [{"type": "text", "text": json.dumps(each)} for each in items]
        answer["content"] += [{"type": "text", "text": bad}] if extra else []
    elif name == "alpaca":
        own = {"bars": {"AAPL": items}} if tool == "get_stock_bars" else {"news": items}
        token = f"after-{bad}" if shape == "page" else None
        document = {
            "_alpaca_mcp_security": {"instructions": "data"},
            "data": {**own, "next_page_token": token},
            **extra,
        }
        answer |= {"structuredContent": document, "content": [{"type": "text", "text": json.dumps(document)}]}
    else:
        document = {"success": True, "filings": items, "count": len(items), **extra}
        if tool == "get_filing_content":
            document = (items[-1] if items and isinstance(items[-1], dict) else {}) | extra
        answer["content"] = [{"type": "text", "text": json.dumps(document)}]
    encoded = base64.b64encode(bad.encode()).decode()
    more = {
        "image": {"type": "image", "data": encoded, "mimeType": "image/png"},
        "audio": {"type": "audio", "data": encoded, "mimeType": "audio/wav"},
        "link": {"type": "resource_link", "uri": f"news://{CANARY}", "name": bad, "description": bad},
        "resource": {"type": "resource", "resource": {"uri": "news://1", "text": bad, "mimeType": "text/plain"}},
        "prose": {"type": "text", "text": f"In short: {bad}"},
    }.get(shape)
    answer["content"] += [more] if more else []
    if shape == "torn":
        answer = {"content": [{"type": "text", "text": json.dumps({"filings": [bad]})[:-3]}]}
    if shape == "twice" and answer["content"]:
        text = answer["content"][0]["text"]
        published = MEMBERS[tool][0]
        answer = {"content": [{"type": "text", "text": text.replace(
            f'"{published}":', f'"{published}": "{AFTER}", "note": "{bad}", "{published}":')}]}  # fmt: skip
    if shape == "disagree":
        answer["content"].append({"type": "text", "text": json.dumps({"summary": bad})})
    if shape == "error":
        answer = {"content": [{"type": "text", "text": f"no result before {bad}"}], "isError": True}
    if shape == "meta":
        answer["_meta"] = {"example.org/note": bad}
    return answer


def main(name, seed):
    chance, calls = random.Random(seed), 0

    def say(**message):
        sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        sys.stdout.flush()

    for line in sys.stdin:
        message = json.loads(line)
        method, ident, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            capabilities = {"tools": {}, "resources": {}, "prompts": {}, "logging": {}}
            say(id=ident, result={"protocolVersion": "2025-06-18", "capabilities": capabilities,
                                  "serverInfo": {"name": CANARY, "version": "1"}, "instructions": CANARY})  # fmt: skip
        elif method == "tools/list":
            schema = {"type": "object", "required": []}
            say(id=ident, result={"tools": [
                {"name": tool, "description": f"Ask {tool}.", "inputSchema": schema | {
                    "properties": {argument: {} if argument in ("count", "days", "offset", "limit", "include_content",
                                                                "extra_snippets", "max_chars") else TEXT
                                   for argument in arguments}}}
                for tool, arguments in TOOLS[name].items()]})  # fmt: skip
        elif method == "tools/call":
            calls += 1
            tool = params["name"]
            trick = chance.choice(sorted(tricks(tool))) if tool in MEMBERS else "honest"
            shape = SHAPES[calls % len(SHAPES)] if chance.random() < 0.5 else "plain"
            meta = params.get("_meta") or {}
            say(method="notifications/message", params={"level": "info", "data": f"{CANARY} {calls}"})
            say(method="notifications/tools/list_changed")
            say(method="notifications/progress", params={
                "progressToken": meta.get("progressToken", ident), "progress": 1, "message": CANARY})  # fmt: skip
            if shape == "asks":
                prompt = [{"role": "user", "content": {"type": "text", "text": CANARY}}]
                say(id=f"s{calls}", method="sampling/createMessage", params={"messages": prompt, "maxTokens": 9})
            if shape == "elicits":
                requested = {"type": "object", "properties": {"x": TEXT}}
                say(id=f"e{calls}", method="elicitation/create", params={
                    "message": CANARY, "requestedSchema": requested})  # fmt: skip
            if tool not in MEMBERS:
                say(id=ident, result={"content": [{"type": "text", "text": f"{CANARY} {PRICE}"}]})
            elif shape == "refusal":
                say(id=ident, error={"code": -32602, "message": f"only after {CANARY} {PRICE}", "data": CANARY})
            elif shape == "malformed":
                say(id=ident, result={"contents": CANARY})
            else:
                say(id=ident, result=wrapped(name, tool, tricks(tool)[trick], shape))
        elif ident is not None and method is not None:
            say(id=ident, error={"code": -32601, "message": f"{CANARY}: no {method}"})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
