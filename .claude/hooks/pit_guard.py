#!/usr/bin/env python3
"""The PIT guard as Claude Code's PreToolUse hook: what must never run is denied before it runs.

Graph writes always. While a session is bound by PITLAKE_AS_OF also raw provider and web tools, and whatever would touch
the lake's files, the hooks or the network. `--wrapper` denies every shell command but pit_fetch.py. The exit code is
always 0. Standard library only, Python 3.9 or newer. It reads texts: the lake is the wall, this is the fence before it.
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
LAKE_TOOL = re.compile(r"mcp__(plugin_[A-Za-z0-9-]+_)?pitlake__[a-z_]+")
SHELLS = ("Bash", "PowerShell", "Monitor")
RAW_TOOLS = ("WebFetch", "WebSearch", "ReadMcpResourceTool", "ListMcpResourcesTool")
WRITERS = ("Edit", "MultiEdit", "Write", "NotebookEdit")
SEARCHERS = ("Grep", "Glob")
PATHS = ("file_path", "notebook_path", "path")
# Shell commands that read what they name and do nothing else, with the flags that keep them so.
READERS = {
    "basename": "", "cat": "bn", "date": "u", "dirname": "", "echo": "n", "false": "", "head": "0123456789cn",
    "grep": "0123456789ABCEFHchilnovwx", "ls": "1ahlt", "mkdir": "p", "printf": "", "pwd": "", "tail": "0123456789cn",
    "true": "", "wc": "clmw",
}  # fmt: skip
OUT_OF_BOUNDS = ("GUARD_LAKE_FILES", "while the session is bound, the lake's files and what binds it are out of bounds")
_QUOTED, _BARE, _OPERATORS = "$`\\!", "$`\\!\n\r{}()<>*?[]~#^", "&;|"

_NOT_CYPHER = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|//[^\n]*|/\*.*?\*/", re.DOTALL)
_WRITES = re.compile(
    r"\b(CREATE|MERGE|SET|DELETE|DETACH|REMOVE|DROP|FOREACH|ALTER|GRANT|DENY|REVOKE|LOAD\s+CSV)\b"
    r"|\bCALL\s+(?!db\.(index\.(fulltext|vector)\.query|labels|propertyKeys|relationshipTypes|schema)|\()",
    re.IGNORECASE,
)


def main() -> int:
    """Judge the message on stdin and answer on stdout. Whatever breaks, the call is denied and the exit code 0."""
    started = time.perf_counter()
    try:
        answer = decide(sys.stdin.buffer.read(), os.environ, sys.argv[1:], started)
    except BaseException:  # noqa: BLE001  The boundary: a guard that breaks lets nothing run, and says so.
        answer = denied(("PIT_PARSE_ERROR", "the guard itself failed, so nothing runs"))
    try:
        sys.stdout.write(json.dumps(answer))
        sys.stdout.flush()
    except (OSError, ValueError):
        pass
    return 0


def decide(text: bytes, env: Mapping[str, str], flags: Sequence[str] = (), started: float = 0.0) -> dict[str, Any]:
    """The hook's answer to a message: `{}` leaves it to the usual permissions. One line goes to the audit log."""
    if HERE not in sys.path:
        sys.path.insert(0, HERE)
    import pit_call

    call = pit_call.read(text)
    denial = judge(call, env, flags) if isinstance(call, pit_call.Call) else call
    told = {"pit": None, "decision": "block" if denial else "allow", "code": denial[0] if denial else None}
    pit_call.audit(env, "pit_guard", call, told, started)
    return denied(denial) if denial else {}


def judge(call: Any, env: Mapping[str, str], flags: Sequence[str]) -> tuple[str, str] | None:
    """Why a call must not run, or None."""
    import pit_call

    bound = pit_call.BOUND in env
    # What an unbound shell says of --pit is a cut-off where it calls the wrapper, and a text anywhere else.
    aside = not bound and call.tool in SHELLS and os.path.basename(WRAPPER) not in str(call.input.get("command"))
    pit = None if aside else pit_call.cut_off(call.input, env)
    if pit is not None and not isinstance(pit, str):
        return pit
    if writes_the_graph(call.tool, call.input):
        return "GUARD_GRAPH_WRITE", "the graph is only ever read"
    if call.tool in SHELLS:
        return _shell(call, env, bound=bound, wrapper_alone="--wrapper" in flags)
    if not bound or LAKE_TOOL.fullmatch(call.tool):
        return None
    if call.tool.startswith("mcp__") or call.tool in RAW_TOOLS:
        return "GUARD_RAW_TOOL", "while the session is bound, ask the lake's tools; this one knows no cut-off"
    return _files(call, env)


def writes_the_graph(tool: str, given: Mapping[str, Any]) -> bool:
    """Whether a call writes to Neo4j, as far as its tool's name, its Cypher or its shell command tell."""
    if "neo4j" in tool and "write" in tool:
        return True
    command = given.get("command")
    if tool in SHELLS and isinstance(command, str):
        return "cypher-shell" in command and _WRITES.search(command) is not None
    asked = (given.get("query"), given.get("cypher"), given.get("statement"))
    return "neo4j" in tool and any(isinstance(one, str) and _WRITES.search(_NOT_CYPHER.sub(" ", one)) for one in asked)


def _shell(call: Any, env: Mapping[str, str], *, bound: bool, wrapper_alone: bool) -> tuple[str, str] | None:
    command, folder = call.input.get("command"), _folder(call)
    if not isinstance(command, str):
        return "GUARD_SHELL", "the call has no command"
    if runs(WRAPPER, command, folder):
        late = call.input.get("run_in_background")
        return ("GUARD_SHELL", "its answer would come past the gate; run it in the foreground") if late else None
    if wrapper_alone:
        return "GUARD_SHELL", f"this agent's shell runs `python3 {WRAPPER} …` and nothing else, without operators"
    if not bound or runs(MERGE, command, folder):
        return None
    return _readers(command, folder, env) if call.tool == "Bash" else ("GUARD_SHELL", "use Bash")


def _readers(command: str, folder: str, env: Mapping[str, str]) -> tuple[str, str] | None:
    """Why a command of a bound session must not run: it is more than READERS, or leads where nothing may be read."""
    out_of_bounds = [*_kept(env, folder), *_binding()]
    for words in simple_commands(command) or [[]]:
        if not words or not all(set(word) <= set("-" + READERS.get(words[0], "")) for word in _flags(words)):
            return (
                "GUARD_SHELL",
                f"while the session is bound, a shell runs pit_fetch.py or plainly {', '.join(READERS)}",
            )
        if any(_touches(path, folder, out_of_bounds, False) for path in words[1:]):
            return OUT_OF_BOUNDS
    return None


def _flags(words: Sequence[str]) -> Iterator[str]:
    """The flags of a command, and the command itself where it is none of READERS, so that it passes as no flag."""
    if words[0] not in READERS:
        yield words[0]
    yield from (word for word in words[1:] if word.startswith("-"))


def runs(script: str, command: str, folder: str) -> bool:
    """Whether a command is one plain call of a script of this project, of which the shell changes nothing."""
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
        and os.path.realpath(os.path.join(folder, words[1])) == os.path.realpath(os.path.join(HERE, "..", "..", script))
    )


def simple_commands(command: str) -> list[list[str]] | None:
    """The simple commands of a list or pipeline, as words; None where the shell would expand or redirect anything."""
    import shlex

    if any(char in (_BARE if bare else _QUOTED) for char, bare in _active(command)):
        return None
    lexer = shlex.shlex(command, posix=True, punctuation_chars="&;|")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    found: list[list[str]] = [[]]
    for word in words:
        if word in ("|", "||", "&&", ";"):
            found.append([])
        elif set(word) & set("&;|") and not set(word) - set("&;|"):
            return None
        else:
            found[-1].append(word)
    return found


def _active(command: str) -> Iterator[tuple[str, bool]]:
    """The characters a shell may act on, each with whether it stands outside all quotes."""
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


def _files(call: Any, env: Mapping[str, str]) -> tuple[str, str] | None:
    """Why a file tool must not run while the session is bound: it would touch the lake's files or what binds it."""
    folder = _folder(call)
    named = [call.input[key] for key in PATHS if isinstance(call.input.get(key), str)]
    deep = call.tool in SEARCHERS
    if deep:
        base = os.path.join(folder, named[0]) if named else folder
        patterns = [call.input[key] for key in ("pattern", "glob") if isinstance(call.input.get(key), str)]
        named = [base, *(os.path.join(base, re.split(r"[*?\[{]", pattern)[0]) for pattern in patterns)]
        if any(".." in pattern for pattern in patterns):
            return "GUARD_LAKE_FILES", "while the session is bound, a search names its folder as its path"
    if any(_touches(path, folder, _kept(env, folder), deep) for path in named):
        return OUT_OF_BOUNDS
    if call.tool in WRITERS and any(_touches(path, folder, _binding(), False) for path in named):
        return "GUARD_LAKE_FILES", "while the session is bound, what binds it is not edited"
    return None


def _folder(call: Any) -> str:
    folder = call.message.get("cwd")
    return folder if isinstance(folder, str) and os.path.isabs(folder) else os.path.join(HERE, "..", "..")


def _kept(env: Mapping[str, str], folder: str) -> list[str]:
    """Where lakes and captured answers are kept, as far as this machine's files go."""
    named = [os.path.join(HERE, "..", "..", ".pitlake"), os.path.join(folder, ".pitlake")]
    lake = env.get("PITLAKE_LAKE")
    if lake:
        named.append(os.path.join(folder, lake.removeprefix("file://")))
    return [os.path.realpath(path) for path in named]


def _binding() -> list[str]:
    """What binds a session, as far as this project's files go."""
    return [os.path.realpath(os.path.join(HERE, "..", "..", name)) for name in (".claude", ".mcp.json", "pitlake")]


def _touches(path: str, folder: str, kept: Sequence[str], deep: bool) -> bool:
    """Whether a path leads into one of the kept folders, or, searched in depth, down to one of them."""
    try:
        real = os.path.realpath(os.path.join(folder, os.path.expanduser(path)))
    except ValueError:
        return True
    inside = any(real == one or real.startswith(one + os.sep) for one in kept)
    return inside or (deep and any(one.startswith(real.rstrip(os.sep) + os.sep) for one in kept if os.path.exists(one)))


def denied(denial: Sequence[str]) -> dict[str, Any]:
    """A denial, as Claude Code reads it today and as it read it before."""
    reason = f"{denial[0]}: {denial[1]}"
    decision = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"decision": "block", "reason": reason, "hookSpecificOutput": decision}


if __name__ == "__main__":
    sys.exit(main())
