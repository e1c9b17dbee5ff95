"""`python -m asofbench`: score every system, and write results.json, results.md, results.html and picture.svg.

No keys. Other systems are installed once from the package index, in separate environments.
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


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 for invalid arguments."""
    options = _parser().parse_args(arguments)
    if options.command == "cases":
        write(options.out, options.seed)
        return 0
    if options.command == "freeze":
        freeze(options.seed)
        return 0
    chosen = [system for system in (*SYSTEMS, *CONTROLS) if _wanted(system, options.only)]
    if not chosen:
        print(f"asofbench: --only must be a part of a system's name, not {options.only!r}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="asofbench-run-") as scratch:
        outcomes = run(chosen, options.seed, options.cache, Path(scratch), options.worlds)
    report = results(outcomes, options.seed, differences(options.seed))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "results.json").write_text(json.dumps(report, indent=1) + "\n")
    (options.out / "results.md").write_text(markdown(report))
    (options.out / "results.html").write_text(page(report))
    real = [system for system in report["systems"] if not system["control"]]
    (options.out / "picture.svg").write_text(picture(real, list(report["classes"])) + "\n")
    print(markdown(report).split("\n\n## Failures")[0])
    return 0


def _wanted(system: System, only: list[str]) -> bool:
    return not only or any(part in system.name for part in only)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="asofbench", description="Who sees the future? Scores data layers.")
    parser.add_argument("command", nargs="?", choices=("run", "cases", "freeze"), default="run", help="default: run")
    parser.add_argument(
        "--out", type=Path, default=Path("asofbench-results"), help="folder that results are written to"
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="PART", help="systems whose names contain one of these"
    )
    parser.add_argument("--worlds", nargs="+", default=[], metavar="WORLD", help="some worlds, such as news-1")
    parser.add_argument(
        "--seed", default=SEED, help="another seed plants other canaries; results are then marked as not frozen"
    )
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for the systems' environments")
    return parser


if __name__ == "__main__":
    sys.exit(main())
