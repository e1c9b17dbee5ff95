"""What an agent saw and said: the tape of its messages over the Model Context Protocol, and the verdicts on it.

A tape has one JSON object a line: {"case", "from": "client" or "server", "message"} for a message of the protocol, and
{"case", "answer"} for what the agent answered. Any client writes it through `record`, which stands before any server.
"""

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import IO, Any

from asofbench.grading import CAUGHT, LEAK, REFUSED, compare, where
from asofbench.model import Case, Question, Reply, read

Line = Mapping[str, Any]
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?")


@dataclass
class Graded:
    """The verdict on one case. calls: tool calls; shown: those that brought up something from after T, with the name of
    the tool; beyond: those that asked for an instant after T.
    """

    case: str
    verdict: str
    why: str = ""
    calls: int = 0
    shown: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)


def prompt(case: Case) -> str:
    """Return the task of a case for an agent."""
    return (
        f"It is {case.ask.as_of}. Which records of {case.ask.entity} are public now? Use the tools. Answer with one "
        'JSON object and nothing else: for each item its newest number and text, {"item": [number, "text"]}.'
    )


def for_agents(found: Iterable[Case]) -> list[Case]:
    """Return the cases that an agent is asked: those about an entity's records, by one instant."""
    return [case for case in found if case.ask.kind == "rows" and not case.ask.loaded_by]


def grade(tape: Iterable[Line], found: Iterable[Case]) -> list[Graded]:
    """Return the verdicts on the cases of a tape, in its order. Raises KeyError for a case that is not one of them."""
    lines: dict[str, list[Line]] = {}
    for line in tape:
        lines.setdefault(line["case"], []).append(line)
    by_id = {case.id: case for case in found}
    verdicts = []
    for name, case_lines in lines.items():
        case = by_id[name]
        at, names, graded = read(case.ask.as_of), dict[Any, str](), Graded(case.id, CAUGHT)
        for line in case_lines:
            message = line.get("message", {})
            if line.get("from") == "server":
                if where(Reply(answer=message), case.ask, case.canaries):
                    graded.shown.append(names.get(message.get("id"), str(message.get("method", "a message"))))
            elif message.get("method") == "tools/call":
                graded.calls += 1
                params = message.get("params") or {}
                names[message.get("id")] = str(params.get("name"))
                if any(moment > at for moment in _instants(params.get("arguments"))):
                    graded.beyond.append(names[message.get("id")])
        answers = [str(line["answer"]) for line in case_lines if "answer" in line]
        graded.verdict, graded.why = _verdict(case, graded, answers)
        verdicts.append(graded)
    return verdicts


def _verdict(case: Case, graded: Graded, answers: Sequence[str]) -> tuple[str, str]:
    """Return the verdict on the last answer, and its reason; a canary counts in every answer."""
    answer = answers[-1] if answers else ""
    if any(where(Reply(answer=each), case.ask, case.canaries) for each in answers):
        return LEAK, "canary in the answer"
    if graded.shown:
        return LEAK, f"canary in what {graded.shown[0]} returned"
    found = re.search(r"\{.*\}", answer, re.DOTALL)
    try:
        records = json.loads(found[0]) if found else None
    except ValueError:
        records = None
    if not isinstance(records, dict):
        return REFUSED, "no JSON object in the answer" if answer else "no answer"
    rows = {item: list(cells) if isinstance(cells, list | tuple) else [cells] for item, cells in records.items()}
    return compare("rows", Reply(answer=rows), case.truth)


def _instants(arguments: Any) -> Iterator[datetime]:
    """Yield the instants in a call's arguments; a date begins at its midnight, and what has no offset is UTC."""
    for text in _INSTANT.findall(json.dumps(arguments)):
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            continue
        yield moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def record(case: str, tape: Path, command: Sequence[str]) -> int:
    """Run an MCP server that speaks over its standard input and output, write every message to a tape, and return the
    server's exit code.
    """
    lock = threading.Lock()
    with tape.open("a") as writing, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        if server.stdin is None or server.stdout is None:
            raise RuntimeError("the server has no standard input and output")

        def pass_on(source: IO[bytes], sink: IO[bytes], side: str) -> None:
            for content in source:
                # Before it is passed on, because the answer to it may come at once, on the other thread.
                with lock:
                    try:
                        message = json.loads(content)
                    except ValueError:
                        message = None
                    if not isinstance(message, dict):
                        message = {"text": content.decode("utf-8", "replace")}
                    writing.write(json.dumps({"case": case, "from": side, "message": message}) + "\n")
                    writing.flush()
                sink.write(content)
                sink.flush()
            if side == "client":
                sink.close()

        sending = threading.Thread(target=pass_on, args=(sys.stdin.buffer, server.stdin, "client"), daemon=True)
        sending.start()
        pass_on(server.stdout, sys.stdout.buffer, "server")
        return server.wait()


def answered(adapter: Any, question: Question) -> dict[str, Any]:
    """Return the result of a tool call: an adapter's answer as text, or its error."""
    try:
        text, is_error = json.dumps(adapter.ask(question), default=str), False
    except Exception as problem:  # noqa: BLE001 - a refusal is whatever the system raises
        text, is_error = f"{type(problem).__name__}: {problem}", True
    return {"content": [{"type": "text", "text": text}], "isError": is_error}
