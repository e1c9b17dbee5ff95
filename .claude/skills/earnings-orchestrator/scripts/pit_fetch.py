#!/usr/bin/env python3
"""The agents' wrapper around outside sources: the door to `pitlake fetch`, with its flags, its stdout and its stderr.

stdout is exactly one envelope {"data": [...], "gaps": [...]}, whatever happens, and the exit code is 0. Standard
library only, so that any Python can open the door; nothing is fetched, dated or filtered here.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
COMMAND = "from pitlake.cli import main; main()"


def interpreter() -> str:
    """The project's own Python where it was set up, else the one that runs this."""
    own = ROOT / ".venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def is_envelope(text: str) -> bool:
    """Whether a text is one JSON object of exactly the two arrays."""
    try:
        payload = json.loads(text)
    except ValueError:
        return False
    return (
        isinstance(payload, dict)
        and set(payload) == {"data", "gaps"}
        and all(isinstance(part, list) for part in payload.values())
    )


def main() -> int:
    """Ask, and pass on what was answered; anything but an envelope becomes an empty one with its gap."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    try:
        said = subprocess.run(
            [interpreter(), "-c", COMMAND, "fetch", *sys.argv[1:]],
            stdout=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=path),
            encoding="utf-8",
            check=False,
        )
        answered, code = said.stdout, said.returncode
    except (OSError, ValueError):
        answered, code = "", None
    if code == 0 and is_envelope(answered):
        sys.stdout.write(answered)
    else:
        gap = {"type": "internal_error", "reason": f"pitlake fetch gave no envelope (exit code {code})"}
        sys.stdout.write(json.dumps({"data": [], "gaps": [gap]}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
