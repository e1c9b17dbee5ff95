#!/usr/bin/env python3
"""The agents' access to outside sources. It runs `pitlake fetch` with one cut-off and returns one envelope.

It writes exactly one envelope {"data": [...], "gaps": [...]} to stdout for every request, and exits with 0; only --help
prints help. In a session bound by PITLAKE_AS_OF, it adds the session's cut-off and refuses a later one. In
a session bound by PITLAKE_KNOWN_BY, that instant replaces any other. A bound session uses its own lake, and can't
replace a source by a file. It runs the installed pitlake, whatever the working directory contains. The command's answer
must pass the lake's rules before it is shown. Only the standard library is used; nothing is fetched, dated or filtered
here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[4]
KNOWN_BY = "PITLAKE_KNOWN_BY"
UNBOUND = ("lake", "input_file")
COMMAND = "from pitlake.cli import main; main()"
sys.path.insert(0, str(ROOT / ".claude" / "hooks"))

from pit_call import BOUND, cut_off, rules  # noqa: E402


def interpreter() -> str:
    """Return the project's own Python, otherwise the one that installed the kit, otherwise the running one."""
    installer = ROOT / ".claude" / "pitlake-python"
    candidates = [ROOT / ".venv" / "bin" / "python"]
    candidates += [Path(installer.read_text().strip())] if installer.exists() else []
    return next((str(candidate) for candidate in candidates if candidate.exists()), sys.executable)


def main() -> int:
    """Print the envelope of a fetch, or the help of the command."""
    if not {"--help", "-h"}.isdisjoint(sys.argv[1:]):
        return subprocess.call([interpreter(), "-I", "-c", COMMAND, "fetch", "--help"])
    sys.stdout.write(json.dumps(answer(sys.argv[1:], os.environ)) + "\n")
    return 0


def answer(arguments: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Return the envelope of a fetch, or a gap that says why there is none."""
    values = [argument.partition("=")[2] for argument in arguments if argument.startswith("--pit=")]
    # A flag without a value is an invalid cut-off.
    values += [arguments[place + 1] if place + 1 < len(arguments) else "" for place in _flags(arguments)]
    pit = cut_off({"parameters": {"pit": values[0]}, "pit": values[-1]} if values else {}, env)
    if pit is not None and not isinstance(pit, str):
        return gap("pit_excluded" if "later" in pit.detail else "bad_input", f"{pit.code}: {pit.detail}")
    flags = (argument for argument in arguments if argument.startswith("--") or "=" in argument)
    names = {flag.lstrip("-").partition("=")[0].replace("-", "_") for flag in flags}
    if BOUND in env and not names.isdisjoint(UNBOUND):
        return gap("pit_excluded", "PIT_INVALID_PIT: a bound session must not name a lake or a file of answers")
    if pit is not None:
        arguments = [*_without_pit(arguments), "--pit", pit]
    if KNOWN_BY in env:
        arguments = [*arguments, "--known-by", env[KNOWN_BY]]
    # A shell shows stderr together with stdout, and nothing may appear next to an envelope that is checked at a
    # cut-off.
    stderr = None if pit is None else subprocess.DEVNULL
    try:
        completed = subprocess.run(
            [interpreter(), "-I", "-c", COMMAND, "fetch", *arguments],
            stdout=subprocess.PIPE, stderr=stderr, env=dict(env), check=False,
        )  # fmt: skip
    except (OSError, ValueError):
        return gap("upstream_error", "pitlake fetch could not be started")
    if completed.returncode != 0:
        return gap("upstream_error", f"pitlake fetch gave no envelope (exit code {completed.returncode})")
    return judged(completed.stdout, pit)


def judged(output: bytes, pit: str | None) -> dict[str, Any]:
    """Return the command's envelope if it passes at the cut-off, else a gap that states the fault."""
    try:
        payload = rules.strict_json(output)
    except (ValueError, RecursionError):
        payload = None
    if not is_envelope(payload):
        return gap("upstream_error", "pitlake fetch gave no envelope (exit code 0)")
    verdict = rules.check_answer(payload, pit) if pit is not None else None
    return payload if verdict is None else gap("pit_excluded", f"{verdict.code}: the fetched answer is not shown")


def is_envelope(payload: Any) -> bool:
    """Return whether a value is an object with exactly the two arrays."""
    return (
        isinstance(payload, dict)
        and payload.keys() == {"data", "gaps"}
        and all(isinstance(part, list) for part in payload.values())
    )


def gap(kind: str, reason: str) -> dict[str, Any]:
    """Return an envelope with a single gap."""
    return {"data": [], "gaps": [{"type": kind, "reason": reason}]}


def _without_pit(arguments: Sequence[str]) -> list[str]:
    dropped = {place + step for place in _flags(arguments) for step in (0, 1)}
    return [
        argument
        for place, argument in enumerate(arguments)
        if place not in dropped and not argument.startswith("--pit=")
    ]


def _flags(arguments: Sequence[str]) -> list[int]:
    return [place for place, argument in enumerate(arguments) if argument == "--pit"]


if __name__ == "__main__":
    sys.exit(main())
