#!/usr/bin/env python3
"""The PIT guard as Claude Code's PreToolUse hook: it denies calls that must never run.

Graph writes are always denied. While a session is bound by PITLAKE_AS_OF, only these are allowed: the lake's tools,
tools that only plan, sub-agents, the project's own skills, a few shell commands, and files where pit_places allows it.
`--wrapper` denies every shell command except pit_fetch.py. The exit code is 0, or 2 if the answer can't be written,
which also denies. Standard library only, Python 3.9 or newer. The guard only reads texts. It is an additional fence;
the wall is the lake itself.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import Any, Iterator, Mapping, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
WRAPPER = ".claude/skills/earnings-orchestrator/scripts/pit_fetch.py"
MERGE = ".claude/skills/earnings-bundle/scripts/merge_envelopes.py"
# Tools that read and write only the session's own plans and questions.
PLANNING = frozenset((
    "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "KillShell", "ReportFindings", "StructuredOutput", "TaskCreate",
    "TaskGet", "TaskList", "TaskStop", "TaskUpdate", "TodoWrite", "ToolSearch",
))  # fmt: skip
STARTERS = ("Agent", "Task")
# Calls of a sub-agent are checked like the session's own. These inputs do not change where the sub-agent runs.
AGENTS = {
    "Agent": {"description", "prompt", "subagent_type", "model", "run_in_background", "name", "resume"},
    "Task": {"description", "prompt", "subagent_type", "model", "run_in_background", "name", "resume"},
    "SendMessage": {"to", "summary", "message", "type", "recipient", "recipient_kind", "content"},
}
SHELLS = ("Bash", "PowerShell", "Monitor")
WRITERS = ("Edit", "MultiEdit", "Write")
# Shell commands that only read the files they name, with the flags under which this holds.
READERS = {
    "basename": "", "cat": "bn", "date": "u", "dirname": "", "echo": "n", "false": "", "head": "0123456789cn",
    "grep": "0123456789ABCEFHchilnovwx", "ls": "1ahlt", "mkdir": "p", "printf": "", "pwd": "", "tail": "0123456789cn",
    "true": "", "wc": "clmw",
}  # fmt: skip
# Claude Code runs the call if its guard takes 30 seconds; this one always takes less than one.
SECONDS = 0.7
MOST_BYTES, MOST_WORDS = 1 << 20, 256
LATE = ("GUARD_TOO_LARGE", f"the call could not be judged within {SECONDS} s; make it shorter, or try again")
UNSAID = "PIT_PARSE_ERROR: the hook could not write its answer\n"
PATHLESS = frozenset(("basename", "date", "dirname", "echo", "false", "printf", "pwd", "true"))
READING = (
    "while the session is bound, it may read only the project's own files: no lake, cache, capture, dot file or sample"
)
SEARCHING = "while the session is bound, a search needs as its path a folder in which everything may be read"
_QUOTED, _BARE, _OPERATORS = "$`\\!", "$`\\!\n\r{}()<>*?[]~#^", "&;|"

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
    started = time.perf_counter()
    try:
        pit_call = _shared()
        text = pit_call.stdin(MOST_BYTES, started + SECONDS)
        answer = pit_call.in_time(lambda: decide(text, os.environ, sys.argv[1:], started), started + SECONDS)
    except BaseException as fault:  # noqa: BLE001  The boundary: a guard that fails lets nothing run, and says so.
        failed = ("PIT_PARSE_ERROR", "the guard itself failed, so nothing runs")
        answer = json.dumps(denied(LATE if isinstance(fault, TimeoutError) else failed)).encode()
    # Write without Python's buffers, which would fail again at exit, with an exit code that blocks nothing.
    for channel, output, code in ((1, answer, 0), (2, UNSAID.encode(), 2)):
        try:
            os.write(channel, output)
        except OSError:
            continue
        return code
    return 2


def decide(text: bytes, env: Mapping[str, str], flags: Sequence[str] = (), started: float = 0.0) -> dict[str, Any]:
    """Return the hook's output: `{}` leaves the call to the usual permissions. Log one line."""
    pit_call = _shared()
    call = pit_call.read(text, MOST_BYTES)
    denial = judge(call, env, flags) if isinstance(call, pit_call.Call) else call
    entry = {"pit": None, "decision": "block" if denial else "allow", "code": denial[0] if denial else None}
    pit_call.audit(env, "pit_guard", call, entry, started)
    return denied(denial) if denial else _in_the_foreground(call)


def _in_the_foreground(call: Any) -> dict[str, Any]:
    """Make a data agent run in the foreground, where its answer passes the gate before the session reads it. Other
    calls are unchanged.
    """
    data_agent = _shared().is_data_agent(call.input.get("subagent_type"))
    if call.tool not in STARTERS or not data_agent or call.input.get("run_in_background") is False:
        return {}
    updated = {**call.input, "run_in_background": False}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": updated}}


def _shared() -> Any:
    """Import what the hooks share: by python3 -I their folder is not on the path."""
    if HERE not in sys.path:
        sys.path.insert(0, HERE)
    import pit_call

    return pit_call


def judge(call: Any, env: Mapping[str, str], flags: Sequence[str]) -> tuple[str, str] | None:
    """Return why a call must not run, or None."""
    import pit_call
    from pit_tools import GATED, UNGATED

    bound = pit_call.BOUND in env
    # In an unbound session, --pit in a shell command is a cut-off only if it calls the wrapper.
    aside = not bound and call.tool in SHELLS and os.path.basename(WRAPPER) not in str(call.input.get("command"))
    pit = None if aside else pit_call.cut_off(call.input, env)
    if pit is not None and not isinstance(pit, str):
        return pit
    if writes_the_graph(call.tool, call.input):
        return "GUARD_GRAPH_WRITE", "the graph is read-only"
    if call.tool in SHELLS:
        return _shell(call, env, bound=bound, wrapper_alone="--wrapper" in flags)
    if not bound or call.tool in GATED | UNGATED or call.tool in PLANNING:
        return None
    if call.tool in AGENTS:
        return _sub_agent(call)
    if call.tool == "Skill":
        return _skill(call)
    if call.tool in FILE_TOOLS:
        return FILE_TOOLS[call.tool](call.input, _places(call, env))
    return "GUARD_RAW_TOOL", "while the session is bound, use the lake's tools; this tool has no cut-off"


def writes_the_graph(tool: str, tool_input: Mapping[str, Any]) -> bool:
    """Return whether a call writes to Neo4j, judged by the tool's name, its Cypher or its shell command."""
    if "neo4j" in tool and "write" in tool:
        return True
    command = tool_input.get("command")
    if tool in SHELLS and isinstance(command, str):
        return "cypher-shell" in command and any(map(_WRITES.search, _readings(command)))
    statements = (tool_input.get("query"), tool_input.get("cypher"), tool_input.get("statement"))
    return "neo4j" in tool and any(isinstance(cypher, str) and _cypher_writes(cypher) for cypher in statements)


def _cypher_writes(cypher: str) -> bool:
    """Return whether a Cypher text writes."""
    plain = (_NOT_CYPHER.sub(lambda match: f" {match['endless'] or ''} ", text) for text in _readings(cypher))
    return any(map(_WRITES.search, plain))


def _readings(cypher: str) -> tuple[str, str]:
    """Return the Cypher text unchanged, and with each \\uXXXX decoded, as some servers do first."""
    return cypher, _ESCAPED.sub(lambda escape: chr(int(escape.group(1), 16)), cypher)


def _sub_agent(call: Any) -> tuple[str, str] | None:
    """Return why a sub-agent must not be started or asked: it runs elsewhere or belongs to another session, or its
    prompt names a file.
    """
    recipients = {str(call.input[name]) for name in ("to", "recipient") if name in call.input}
    other = len(recipients) > 1 or not all(re.fullmatch(r"[A-Za-z0-9_-]{1,96}", name) for name in recipients)
    other = other or call.input.get("type", "message") != "message"
    other = other or call.input.get("recipient_kind", "agent") not in ("agent", "main")
    if other or not call.input.keys() <= AGENTS[call.tool] or _expands(call.input):
        return (
            "GUARD_AGENT",
            "while the session is bound, sub-agents must run in this session, with a prompt of plain text",
        )
    return None


def _skill(call: Any) -> tuple[str, str] | None:
    """Return why a skill must not be loaded: it is not the project's own, or Claude Code would expand its arguments."""
    name = call.input.get("skill")
    there = os.path.join(HERE, "..", "skills")
    if name not in os.listdir(there) or _expands(call.input):
        return (
            "GUARD_SKILL",
            "while the session is bound, only the project's own skills are loaded, with plain text as arguments",
        )
    return None


def _expands(tool_input: Mapping[str, Any]) -> bool:
    """Return whether Claude Code would replace part of a text: `@file` by the file, or a command after `!` by its
    output.
    """
    return any(isinstance(text, str) and re.search(r"(?:^|\W)@\S|!\s*`", text) for text in tool_input.values())


def _shell(call: Any, env: Mapping[str, str], *, bound: bool, wrapper_alone: bool) -> tuple[str, str] | None:
    command, folder = call.input.get("command"), _folder(call)
    if not isinstance(command, str):
        return "GUARD_SHELL", "the call has no command"
    if len(command) > _shared().MOST_COMMAND:
        return _too_large() if bound or wrapper_alone else None
    if runs(WRAPPER, command, folder):
        late = call.input.get("run_in_background")
        return ("GUARD_SHELL", "its answer would bypass the gate; run it in the foreground") if late else None
    if wrapper_alone:
        return "GUARD_SHELL", f"this agent's shell may run only `python3 {WRAPPER} …`, without operators"
    if not bound:
        return None
    places, commands = _places(call, env), simple_commands(command)
    if commands and sum(map(len, commands)) > MOST_WORDS:
        return _too_large()
    if commands and runs(MERGE, command, folder):
        return None if all(map(places.readable, _operands(commands[0]))) else _refused(READING)
    return _readers(commands, places) if call.tool == "Bash" else ("GUARD_SHELL", "use Bash")


def _too_large() -> tuple[str, str]:
    most = f"{_shared().MOST_COMMAND} characters and {MOST_WORDS} words"
    return "GUARD_TOO_LARGE", f"a command of more than {most} can't be judged; split it"


def _readers(commands: list[list[str]] | None, places: Any) -> tuple[str, str] | None:
    """Return why commands of a bound session must not run: they are not in READERS, or read a forbidden place."""
    for words in commands or [[]]:
        if not words or not all(set(word) <= set("-" + READERS.get(words[0], "")) for word in _flags(words)):
            return (
                "GUARD_SHELL",
                f"while the session is bound, a shell may run only pit_fetch.py or a plain {', '.join(READERS)}",
            )
        paths = [] if words[0] in PATHLESS else _operands(words)
        if words[0] == "mkdir" and not all(places.writable(path, folder=True) for path in paths):
            return _not_written(places)
        if words[0] == "grep" and not all(map(places.searchable, paths[1:])):
            return _refused(SEARCHING)
        if words[0] not in ("mkdir", "grep") and not all(map(places.readable, paths)):
            return _refused(READING)
    return None


def _operands(words: Sequence[str]) -> list[str]:
    return [word for word in words[1:] if not word.startswith("-")]


def _flags(words: Sequence[str]) -> Iterator[str]:
    """Return the flags of a command; one that is not in READERS is returned too, so it never counts as a flag."""
    if words[0] not in READERS:
        yield words[0]
    yield from (word for word in words[1:] if word.startswith("-"))


def runs(script: str, command: str, folder: str) -> bool:
    """Return whether a command is one plain call of a script of this project that the shell would not change."""
    import shlex

    if any(char in _BARE + _OPERATORS if bare else char in _QUOTED for char, bare in _active(command)):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    return (
        len(words) > 1
        and words[0] in ("python", "python3")
        and _leads_to(folder, words[1]) == _leads_to(HERE, f"../../{script}")
    )


def simple_commands(command: str) -> list[list[str]] | None:
    """Return the simple commands of a list or pipeline, as words; None if the shell would expand or redirect."""
    import shlex

    if any(char in (_BARE if bare else _QUOTED) for char, bare in _active(command)):
        return None
    lexer = shlex.shlex(command, posix=True, punctuation_chars="&;|")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    commands: list[list[str]] = [[]]
    for word in words:
        if word in ("|", "||", "&&", ";"):
            commands.append([])
        elif set(word) & set("&;|") and not set(word) - set("&;|"):
            return None
        else:
            commands[-1].append(word)
    return commands


def _active(command: str) -> Iterator[tuple[str, bool]]:
    """Yield the characters a shell may act on, each with whether it is outside all quotes."""
    quote = ""
    for char in command:
        if quote:
            if char == quote:
                quote = ""
            elif quote == '"':
                yield char, False
        elif char in "'\"":
            quote = char
        else:
            yield char, True


def _reads(tool_input: Mapping[str, Any], places: Any) -> tuple[str, str] | None:
    path = tool_input.get("file_path")
    return None if isinstance(path, str) and places.readable(path) else _refused(READING)


def _writes(tool_input: Mapping[str, Any], places: Any) -> tuple[str, str] | None:
    path = tool_input.get("file_path")
    return None if isinstance(path, str) and places.writable(path) else _not_written(places)


def _greps(tool_input: Mapping[str, Any], places: Any) -> tuple[str, str] | None:
    path = tool_input.get("path", ".")
    return None if isinstance(path, str) and places.searchable(path) else _refused(SEARCHING)


def _globs(tool_input: Mapping[str, Any], places: Any) -> tuple[str, str] | None:
    """For a pattern, the folder before its first wildcard decides."""
    base, pattern = tool_input.get("path", "."), tool_input.get("pattern")
    if not isinstance(base, str) or not isinstance(pattern, str) or ".." in pattern or pattern != pattern.strip():
        return _refused(SEARCHING)
    plain = re.match(r"[^*?\[\]{}()!@+|\\]*", pattern).group()
    folder = plain.rpartition("/")[0] if plain != pattern else plain
    rooted = folder or ("/" if pattern.startswith("/") else "")
    return None if places.searchable(os.path.join(base, os.path.expanduser(rooted))) else _refused(SEARCHING)


FILE_TOOLS = {"Read": _reads, "Grep": _greps, "Glob": _globs, **dict.fromkeys(WRITERS, _writes)}


def _refused(why: str) -> tuple[str, str]:
    return "GUARD_LAKE_FILES", why


def _not_written(places: Any) -> tuple[str, str]:
    own = places.own or "scratch/<session id>"
    return "GUARD_WRITE", f"while the session is bound, it may write only .csv, .json and .txt files below {own}"


def _places(call: Any, env: Mapping[str, str]) -> Any:
    import pit_places

    project = os.path.join(HERE, "..", "..")
    return pit_places.Places(project, env, _folder(call), call.message.get("session_id"))


def _leads_to(folder: str, path: str) -> str | None:
    import pit_places

    return pit_places.leads_to(folder, path)


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
