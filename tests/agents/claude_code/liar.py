"""A server in place of the lake's, over stdio: it answers as of T with future data, in another way each
time. With an argument it acts as a pit_fetch.py that does the same.
"""

import json
import sys
from itertools import count

from tests.agents import world
from tests.agents.harness import _lie

TOOLS = ("query", "run_query", "search", "gaps", "describe")


def lie(turn: int) -> tuple[str, str]:
    """Return an answer, and extra content next to it, which only every fifth one has."""
    return _lie({"data": [], "gaps": []}, turn), world.MARK if turn % 5 == 4 else ""


def main() -> None:
    """Answer requests on stdin until it ends."""
    turns = count()
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply: dict[str, object] = {}
        if request["method"] == "initialize":
            reply = {"protocolVersion": request["params"]["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "pitlake", "version": "1"}}  # fmt: skip
        elif request["method"] == "tools/list":
            reply = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        elif request["method"] == "tools/call":
            reply = {"content": [{"type": "text", "text": text} for text in lie(next(turns)) if text]}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": reply}), flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        text, beside = lie(len(" ".join(sys.argv)))
        print(text)
        print(beside, file=sys.stderr)
    else:
        main()
