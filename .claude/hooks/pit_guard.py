#!/usr/bin/env python3
"""The PIT guard as Claude Code's PreToolUse hook: it denies calls that must never run.

Graph writes are always denied. While a session is bound by PITLAKE_AS_OF, only these are allowed: the lake's tools,
tools that only plan, sub-agents, the project's own skills, a few shell commands, and files where pit_places allows it.
`--wrapper` denies every shell command except pit_fetch.py. The exit code is 0, or 2 if the answer can't be written,
which also denies. The guard is an additional fence; the wall is the lake itself.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, Mapping, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
# python3 -I leaves the hooks' folder out of the path.
sys.path.insert(0, HERE)
try:
    import pit_call
    from pit_tools import GATED, UNGATED
except BaseException:  # noqa: BLE001  Without the rules, `main` denies every call.
    pit_call = None

WRAPPER = ".claude/skills/earnings-orchestrator/scripts/pit_fetch.py"
MERGE = ".claude/skills/earnings-bundle/scripts/merge_envelopes.py"
# Tools that read and write only the session's own plans and questions.
PLANNING = frozenset((
    "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "KillShell", "ReportFindings", "StructuredOutput", "TaskCreate",
    "TaskGet", "TaskList", "TaskStop", "TaskUpdate", "TodoWrite", "ToolSearch",
))  # fmt: skip
# Calls of a sub-agent are checked like the session's own. These inputs do not change where the sub-agent runs.
START = {"description", "prompt", "subagent_type", "model", "run_in_background", "name", "resume"}
MESSAGE = {"to", "summary", "message", "type", "recipient", "recipient_kind", "content"}
AGENTS = {"Agent": START, "Task": START, "SendMessage": MESSAGE}
SHELLS = ("Bash", "PowerShell", "Monitor")
# How a tool uses a file: a method of pit_places.Places.
FILE_TOOLS = dict.fromkeys(("Edit", "MultiEdit", "Write"), "writable")
FILE_TOOLS |= {"Read": "readable", "Grep": "searchable", "Glob": "searchable"}
# Shell commands that only read the files they name, with the flags under which this holds.
READERS = {
    "basename": "", "cat": "bn", "date": "u", "dirname": "", "echo": "n", "false": "", "head": "0123456789cn",
    "grep": "0123456789ABCEFHchilnovwx", "ls": "1ahlt", "mkdir": "p", "printf": "", "pwd": "", "tail": "0123456789cn",
    "true": "", "wc": "clmw",
}  # fmt: skip
PATHLESS = frozenset(("basename", "date", "dirname", "echo", "false", "printf", "pwd", "true"))
# Claude Code runs the call if its guard takes 30 seconds; this one always takes less than one.
SECONDS = 0.7
MOST_BYTES, MOST_WORDS = 1 << 20, 256
FAILED = ("PIT_PARSE_ERROR", "the guard itself failed, so nothing runs")
LATE = ("GUARD_TOO_LARGE", f"the call could not be judged within {SECONDS} s; make it shorter, or try again")
_BOUND = "while the session is bound,"
# Why a call is denied.
DENIALS = {
    "agent": ("GUARD_AGENT", f"{_BOUND} sub-agents must run in this session, with a prompt of plain text"),
    "background": ("GUARD_SHELL", "its answer would bypass the gate; run it in the foreground"),
    "graph": ("GUARD_GRAPH_WRITE", "the graph is read-only"),
    "large": ("GUARD_TOO_LARGE", f"a command of more than {{most}} and {MOST_WORDS} words can't be judged; split it"),
    "not bash": ("GUARD_SHELL", "use Bash"),
    "not text": ("GUARD_SHELL", "the call has no command"),
    "readable": (
        "GUARD_LAKE_FILES",
        f"{_BOUND} it may read only the project's own files: no lake, cache, capture, dot file or sample",
    ),
    "searchable": ("GUARD_LAKE_FILES", f"{_BOUND} a search needs as its path a folder in which everything may be read"),
    "shell": ("GUARD_SHELL", f"{_BOUND} a shell may run only pit_fetch.py or a plain {', '.join(READERS)}"),
    "skill": ("GUARD_SKILL", f"{_BOUND} only the project's own skills are loaded, with plain text as arguments"),
    "tool": ("GUARD_RAW_TOOL", f"{_BOUND} use the lake's tools; this tool has no cut-off"),
    "wrapper": ("GUARD_SHELL", f"this agent's shell may run only `python3 {WRAPPER} …`, without operators"),
    "writable": ("GUARD_WRITE", f"{_BOUND} it may write only .csv, .json and .txt files below {{own}}"),
}
DENIALS["creatable"] = DENIALS["writable"]
# Characters on which a shell acts: within double quotes, and outside all quotes.
_QUOTED, _BARE = frozenset("$`\\!"), frozenset("$`\\!\n\r{}()<>*?[]~#^&;|")
_QUOTES = re.compile(r"""'[^']*'?|"([^"]*)"?""")
_PIECES = re.compile(r"""(?P<operator>&&|\|\||[;|])|(?:[^'"&;|]|'[^']*'?|"[^"]*"?)+|&""")

# Texts, names and comments of Cypher. An unclosed text, name or comment extends to the end in one step, so that no part
# is searched twice, and it is kept.
_NOT_CYPHER = re.compile(
    r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|//[^\n]*|/\*.*?\*/|(?P<endless>(?:['\"`]|/\*).*)", re.DOTALL
)
_ESCAPED = re.compile(r"\\u+([0-9a-fA-F]{4})")
_WRITES = re.compile(
    r"\b(CREATE|MERGE|SET|DELETE|DETACH|REMOVE|DROP|FOREACH|ALTER|GRANT|DENY|REVOKE|LOAD\s+CSV)\b"
    r"|\bCALL\s+(?!db\.(index\.(fulltext|vector)\.query|labels|propertyKeys|relationshipTypes|schema)|\()",
    re.IGNORECASE,
)


def main() -> int:
    """Judge the message on stdin and write the answer to stdout; any failure denies the call or exits with 2."""
    if pit_call is not None:
        return pit_call.run(decide, lambda _, late: denied(LATE if late else FAILED), SECONDS)
    os.write(1, json.dumps(denied(FAILED)).encode())
    return 0


def decide(text: bytes, env: Mapping[str, str], flags: Sequence[str] = ()) -> dict[str, Any]:
    """Return the hook's output: `{}` leaves the call to the usual permissions. Log one line."""
    call = pit_call.read(text, MOST_BYTES)
    denial = judge(call, env, flags) if isinstance(call, pit_call.Call) else call
    pit_call.audit(env, "pit_guard", call, denial)
    return denied(denial) if denial else _in_the_foreground(call)


def _in_the_foreground(call: Any) -> dict[str, Any]:
    """Make a data agent run in the foreground, where its answer passes the gate before the session reads it."""
    data_agent = call.tool in pit_call.STARTERS and pit_call.is_data_agent(call.input.get("subagent_type"))
    if not data_agent or call.input.get("run_in_background") is False:
        return {}
    updated = {**call.input, "run_in_background": False}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": updated}}


def judge(call: Any, env: Mapping[str, str], flags: Sequence[str]) -> tuple[str, str] | None:
    """Return why a call must not run, or None."""
    bound = pit_call.BOUND in env
    # In an unbound session, --pit in a shell command is a cut-off only if it calls the wrapper.
    aside = not bound and call.tool in SHELLS and os.path.basename(WRAPPER) not in str(call.input.get("command"))
    pit = None if aside else pit_call.cut_off(call.input, env)
    if pit is not None and not isinstance(pit, str):
        return pit
    if writes_the_graph(call.tool, call.input):
        return _denial("graph")
    if call.tool in SHELLS:
        return _shell(call, env, bound=bound, wrapper_alone="--wrapper" in flags)
    if not bound or call.tool in GATED | UNGATED | PLANNING:
        return None
    if call.tool in FILE_TOOLS:
        return _misuse(_places(call, env), FILE_TOOLS[call.tool], [_path(call)])
    if call.tool in AGENTS:
        return None if _stays_here(call) else _denial("agent")
    if call.tool == "Skill":
        own = call.input.get("skill") in os.listdir(os.path.join(HERE, "..", "skills"))
        return None if own and not _expands(call.input) else _denial("skill")
    return _denial("tool")


def writes_the_graph(tool: str, tool_input: Mapping[str, Any]) -> bool:
    """Return whether a call writes to Neo4j, judged by the tool's name, its Cypher or its shell command."""
    if "neo4j" in tool and "write" in tool:
        return True
    names = ("command",) if tool in SHELLS else ("query", "cypher", "statement") if "neo4j" in tool else ()
    texts = [text for text in map(tool_input.get, names) if isinstance(text, str)]
    # Some servers first decode each \uXXXX.
    texts += [_ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), text) for text in texts]
    if tool not in SHELLS:
        texts = [_NOT_CYPHER.sub(lambda match: f" {match['endless'] or ''} ", text) for text in texts]
    elif "cypher-shell" not in str(tool_input.get("command")):
        return False
    return any(map(_WRITES.search, texts))


def _stays_here(call: Any) -> bool:
    """Return whether a sub-agent runs in this session, and its prompt names no file."""
    recipients = {str(call.input[name]) for name in ("to", "recipient") if name in call.input}
    return (
        call.input.keys() <= AGENTS[call.tool]
        and len(recipients) <= 1
        and all(re.fullmatch(r"[A-Za-z0-9_-]{1,96}", name) for name in recipients)
        and call.input.get("type", "message") == "message"
        and call.input.get("recipient_kind", "agent") in ("agent", "main")
        and not _expands(call.input)
    )


def _expands(tool_input: Mapping[str, Any]) -> bool:
    """Return whether Claude Code would replace part of a text by a file (`@file`) or a command's output (`!`)."""
    return any(isinstance(text, str) and re.search(r"(?:^|\W)@\S|!\s*`", text) for text in tool_input.values())


def _shell(call: Any, env: Mapping[str, str], *, bound: bool, wrapper_alone: bool) -> tuple[str, str] | None:
    command, folder = call.input.get("command"), _folder(call)
    if not isinstance(command, str):
        return _denial("not text")
    if len(command) > pit_call.MOST_COMMAND:
        return _denial("large") if bound or wrapper_alone else None
    if runs(WRAPPER, command, folder):
        return _denial("background") if call.input.get("run_in_background") else None
    if wrapper_alone or not bound:
        return _denial("wrapper") if wrapper_alone else None
    places, commands = _places(call, env), simple_commands(command)
    if sum(map(len, commands)) > MOST_WORDS:
        return _denial("large")
    if runs(MERGE, command, folder):
        return _misuse(places, "readable", _operands(_words(command)))
    if call.tool != "Bash":
        return _denial("not bash")
    return next(filter(None, (_reader(words, places) for words in commands)), None)


def _reader(words: list[str], places: Any) -> tuple[str, str] | None:
    """Return why a command of a bound session must not run: it is not in READERS, or uses a forbidden place."""
    flags = "".join(word[1:] for word in words if word.startswith("-"))
    if not words or words[0] not in READERS or not set(flags) <= set(READERS[words[0]]):
        return _denial("shell")
    if words[0] in PATHLESS:
        return None
    if words[0] == "grep":
        return _misuse(places, "searchable", _operands(words)[1:])
    return _misuse(places, "creatable" if words[0] == "mkdir" else "readable", _operands(words))


def _operands(words: Sequence[str]) -> list[str]:
    return [word for word in words[1:] if word == "-" or not word.startswith("-")]


def runs(script: str, command: str, folder: str) -> bool:
    """Return whether a command is one plain call of a script of this project that the shell would not change."""
    from pit_places import leads_to

    words = _words(command)
    if len(words) < 2 or words[0] not in ("python", "python3"):
        return False
    return leads_to(folder, words[1]) == leads_to(HERE, f"../../{script}")


def simple_commands(command: str) -> list[list[str]]:
    """Return the words of each simple command of a list or pipeline; none if the shell would expand or redirect."""
    pieces = [""]
    for match in _PIECES.finditer(command):
        pieces += [""] if match["operator"] else [pieces.pop() + match[0]]
    return list(map(_words, pieces))


def _words(command: str) -> list[str]:
    """Return the words of a simple command; none if the shell would act on any of its characters."""
    import shlex

    quoted = "".join(match[1] or "" for match in _QUOTES.finditer(command))
    if not _BARE.isdisjoint(_QUOTES.sub("", command)) or not _QUOTED.isdisjoint(quoted):
        return []
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _path(call: Any) -> Any:
    """Return the path that a file tool uses; for a pattern, the folder before its first wildcard, or None."""
    if FILE_TOOLS[call.tool] != "searchable":
        return call.input.get("file_path")
    base, pattern = call.input.get("path", "."), call.input.get("pattern")
    if call.tool == "Grep":
        return base
    if not isinstance(base, str) or not isinstance(pattern, str) or ".." in pattern or pattern != pattern.strip():
        return None
    folder = re.match(r"(?:[^*?\[\]{}()!@+|\\]*(?:/|\Z))?", pattern).group()
    return os.path.join(base, os.path.expanduser(folder))


def _misuse(places: Any, use: str, paths: Sequence[Any]) -> tuple[str, str] | None:
    """Return why paths must not be used, or None. use: a method of places."""
    return None if all(map(getattr(places, use), paths)) else _denial(use, places.own or "scratch/<session id>")


def _denial(reason: str, own: str = "") -> tuple[str, str]:
    code, why = DENIALS[reason]
    return code, why.format(own=own, most=f"{pit_call.MOST_COMMAND} characters")


def _places(call: Any, env: Mapping[str, str]) -> Any:
    from pit_places import Places

    return Places(os.path.join(HERE, "..", ".."), env, _folder(call), call.message.get("session_id"))


def _folder(call: Any) -> str:
    folder = call.message.get("cwd")
    return folder if isinstance(folder, str) and os.path.isabs(folder) else os.path.join(HERE, "..", "..")


def denied(denial: Sequence[str]) -> dict[str, Any]:
    """Return a denial in the forms of current and earlier versions of Claude Code."""
    reason = f"{denial[0]}: {denial[1]}"
    decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"decision": "block", "reason": reason, "hookSpecificOutput": decision}


if __name__ == "__main__":
    sys.exit(main())
