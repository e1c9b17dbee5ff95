"""`python -m asofbench`: score every system, and write results.json, results.md, results.html and picture.svg.

No keys. Peers are installed from the package index into environments of their own, once.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from asofbench.generate import SEED, differences, freeze, write
from asofbench.page import page, picture
from asofbench.report import markdown, results
from asofbench.run import CACHE, run
from asofbench.systems import CONTROLS, SYSTEMS, System


def main(given: list[str] | None = None) -> int:
    """The command line; its exit code: 0, 2 for what can't be understood."""
    asked = _parser().parse_args(given)
    if asked.command == "cases":
        write(asked.out, asked.seed)
        return 0
    if asked.command == "freeze":
        freeze(asked.seed)
        return 0
    chosen = [system for system in (*SYSTEMS, *CONTROLS) if _wanted(system, asked.only)]
    if not chosen:
        print(f"asofbench: --only must be a part of a system's name, not {asked.only!r}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="asofbench-run-") as scratch:
        outcomes = run(chosen, asked.seed, asked.cache, Path(scratch), asked.worlds)
    told = results(outcomes, asked.seed, differences(asked.seed))
    asked.out.mkdir(parents=True, exist_ok=True)
    (asked.out / "results.json").write_text(json.dumps(told, indent=1) + "\n")
    (asked.out / "results.md").write_text(markdown(told))
    (asked.out / "results.html").write_text(page(told))
    real = [system for system in told["systems"] if not system["control"]]
    (asked.out / "picture.svg").write_text(picture(real, list(told["classes"])) + "\n")
    print(markdown(told).split("\n\n## Failures")[0])
    return 0


def _wanted(system: System, only: list[str]) -> bool:
    return not only or any(part in system.name for part in only)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="asofbench", description="Who sees the future? Scores data layers.")
    parser.add_argument("command", nargs="?", choices=("run", "cases", "freeze"), default="run", help="default: run")
    parser.add_argument(
        "--out", type=Path, default=Path("asofbench-results"), help="folder that results are written to"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="PART", help="systems whose names hold one of these")
    parser.add_argument("--worlds", nargs="+", default=[], metavar="WORLD", help="some worlds, such as news-1")
    parser.add_argument("--seed", default=SEED, help="another seed plants other canaries; results say it is not frozen")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for the systems' environments")
    return parser


if __name__ == "__main__":
    sys.exit(main())
