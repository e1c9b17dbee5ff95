"""`python -m asofbench.agents`: the track for agents, whose answers as of T and whose tool calls are scored."""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from asofbench import __version__
from asofbench.generate import CLASSES, SEED, cases
from asofbench.model import Case, Question, told
from asofbench.systems import BadTarget, found
from asofbench.tape import answered, for_agents, grade, prompt, record

_RECORDS = {
    "name": "records",
    "description": "The records of an entity: for each item its newest number and text.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "entity": {"type": "string", "description": "Company, series or desk."},
            "as_of": {"type": "string", "description": "An instant, ISO 8601 with its offset."},
        },
        "required": ["entity"],
    },
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, 1 if a case leaks, or 2 for invalid arguments."""
    parser = argparse.ArgumentParser(prog="python -m asofbench.agents", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    tasks = commands.add_parser("tasks", help="write prompts, and the rows to load")
    tape = commands.add_parser("tape", help="run an MCP server and write its messages to a tape")
    server = commands.add_parser("serve", help="serve a system as an MCP server")
    graded = commands.add_parser("grade", help="score a tape")
    for command in (tasks, tape, server, graded):
        command.add_argument("--seed", default=SEED, help="another seed makes other cases")
        command.set_defaults(case="", classes=())
    tasks.add_argument("--classes", nargs="+", choices=CLASSES, metavar="CLASS", help="only these classes")
    for command in (tasks, tape):
        command.add_argument("--out", type=Path, required=True, help="folder of the tasks, or file of the tape")
    for command in (tape, server):
        command.add_argument("--case", required=True, help="its id, as in tasks.jsonl")
    tape.add_argument("server", nargs="+", metavar="COMMAND", help="after --: the command of the server")
    server.add_argument("system", help="its name, file.py:Class, or an entry point")
    server.add_argument("--pinned", action="store_true", help="answer as of T; the tool has no argument for it")
    graded.add_argument("tape", type=Path)
    options = parser.parse_args(arguments)
    try:
        everything = for_agents(cases(options.seed))
        if options.command == "grade":
            return _grade(options.tape, everything)
        chosen = _chosen(everything, options.case, options.classes)
        if options.command == "tasks":
            write_tasks(chosen, options.out)
            return 0
        if options.command == "tape":
            return record(chosen[0].id, options.out, options.server)
        serve(options.system, chosen[0], options.pinned)
    except (BadTarget, OSError) as problem:
        print(f"asofbench.agents: {problem}", file=sys.stderr)
        return 2
    return 0


def _chosen(everything: list[Case], name: str, classes: Iterable[str]) -> list[Case]:
    chosen = [case for case in everything if name in ("", case.id) and (not classes or case.kind in classes)]
    if not chosen:
        raise BadTarget(f"there is no case {name!r} for agents: `tasks` lists them")
    return chosen


def write_tasks(chosen: Iterable[Case], out: Path) -> None:
    """Write tasks.jsonl with a prompt per case, and the rows of each case, which go into the store to be scored."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / "tasks.jsonl").open("w") as tasks:
        for case in chosen:
            file = f"{case.id.replace('/', '-')}.jsonl"
            (out / file).write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in _rows(case)))
            tasks.write(json.dumps({"case": case.id, "T": case.ask.as_of, "prompt": prompt(case), "rows": file}) + "\n")


def _rows(case: Case) -> list[dict[str, Any]]:
    return sorted((told(row) for row in (*case.rows, *case.plant)), key=lambda row: str(row["loaded_at"]))


def serve(name: str, case: Case, pinned: bool) -> None:
    """Serve a system that has a case's rows, over standard input and output. pinned: every call is answered as of T,
    and the tool has no argument for it. Raises BadTarget.
    """
    system = found(name)
    with tempfile.TemporaryDirectory(prefix="asofbench-") as folder:
        adapter = system.adapter_class()(Path(folder), system.options)
        adapter.load(_rows(case))
        for content in sys.stdin:
            for reply in replies(adapter, case, json.loads(content), pinned):
                print(json.dumps(reply), flush=True)
        adapter.close()


def replies(adapter: Any, case: Case, message: dict[str, Any], pinned: bool) -> Iterator[dict[str, Any]]:
    """Yield the reply to a message of the protocol; a notification has none."""
    if "id" not in message:
        return
    method, params = message.get("method"), message.get("params", {})
    head = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        server = {"name": "asofbench", "version": __version__}
        version = params.get("protocolVersion", "2025-06-18")
        yield {**head, "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}}
    elif method == "tools/list":
        schema = json.loads(json.dumps(_RECORDS))
        if pinned:
            del schema["inputSchema"]["properties"]["as_of"]
        yield {**head, "result": {"tools": [schema]}}
    elif method == "tools/call" and params.get("name") == "records":
        arguments = params.get("arguments", {})
        at = case.ask.as_of if pinned else arguments.get("as_of", "")
        question = Question(
            kind="rows" if at else "forgotten", as_of=at or case.ask.as_of, entity=str(arguments.get("entity", ""))
        )
        yield {**head, "result": answered(adapter, question)}
    elif method == "ping":
        yield {**head, "result": {}}
    else:
        yield {**head, "error": {"code": -32601, "message": f"there is no {method} {params.get('name', '')}".strip()}}


def _grade(file: Path, everything: list[Case]) -> int:
    with file.open() as tape:
        lines = [_line(content, f"{file}: line {number}") for number, content in enumerate(tape, 1) if content.strip()]
    case_ids = {case.id for case in everything}
    if unknown := sorted({line["case"] for line in lines} - case_ids):
        raise BadTarget(f"{file}: there is no case {unknown[0]!r} for agents: `tasks` lists them")
    graded = grade(lines, everything)
    for verdict in graded:
        print(json.dumps(asdict(verdict)))
    counts = Counter(verdict.verdict for verdict in graded)
    calls = sum(verdict.calls for verdict in graded)
    shown, beyond = (sum(len(getattr(verdict, name)) for verdict in graded) for name in ("shown", "beyond"))
    summary = ", ".join(f"{counts[name]} {name}" for name in ("caught", "leak", "withheld", "refused"))
    print(
        f"{len(graded)} of {len(everything)} cases: {summary}. {calls} tool calls: {shown} showed what came after T, "
        f"{beyond} asked for it.",
        file=sys.stderr,
    )
    return int(counts["leak"] > 0)


def _line(content: str, where: str) -> dict[str, Any]:
    try:
        line = json.loads(content)
    except ValueError:
        line = None
    if not isinstance(line, dict) or not (isinstance(line.get("case"), str) and _is_message(line.get("message", {}))):
        raise BadTarget(f"{where} is not a JSON object with a case: write the tape with `tape`")
    return line


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and isinstance(message.get("params", {}), dict | None)


if __name__ == "__main__":
    sys.exit(main())
