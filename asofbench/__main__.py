"""`asofbench run SYSTEM`: score systems, and write results.json, results.md, results.html, picture.svg and badges.

No keys. Other systems are installed once from the package index, in separate environments.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from asofbench.generate import CLASSES, SEED, differences, freeze, worlds, write
from asofbench.large import NAME
from asofbench.merge import merged
from asofbench.page import badge, page, picture
from asofbench.report import markdown, results, table
from asofbench.run import CACHE, Plan, Progress, run
from asofbench.systems import CONTROLS, SYSTEMS, BadTarget, System, found
from asofbench.worker import slug


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0, or 2 for invalid arguments."""
    parser = argparse.ArgumentParser(prog="asofbench", description="Who sees the future? Scores data layers.")
    parser.add_argument(
        "command", nargs="?", choices=("run", "cases", "freeze", "merge"), default="run", help="default: run"
    )
    parser.add_argument(
        "systems",
        nargs="*",
        metavar="SYSTEM",
        help="a part of a system's name, file.py:Class, or an entry point; for merge, files of results",
    )
    parser.add_argument("--out", type=Path, default=Path("asofbench-results"), help="folder for the results")
    parser.add_argument("--classes", nargs="+", default=[], metavar="CLASS", help="some classes, such as restatement")
    parser.add_argument("--worlds", nargs="+", default=[], metavar="WORLD", help="some worlds, such as news")
    parser.add_argument("--seed", default=SEED, help="another seed makes other cases, which a party may keep to itself")
    parser.add_argument(
        "--limit", type=int, default=840, metavar="SECONDS", help="the most for a family (default: 840)"
    )
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for the systems' environments")
    options = parser.parse_intermixed_args(arguments)
    if options.command == "cases":
        write(options.out, options.seed)
        return 0
    if options.command == "freeze":
        freeze(options.seed)
        return 0
    try:
        if options.command == "merge":
            _write(merged(map(_report, options.systems)), options.out)
            return 0
        _check("class", options.classes, (*CLASSES, NAME))
        _check("world", options.worlds, [world.name for world in worlds(options.seed)])
        chosen = chosen_systems(options.systems)
    except BadTarget as problem:
        print(f"asofbench: {problem}", file=sys.stderr)
        return 2
    plan = Plan(
        seed=options.seed,
        cache=options.cache,
        worlds=options.worlds,
        classes=options.classes,
        limit=options.limit,
    )
    report = scored(chosen, plan)
    _write(report, options.out)
    return 0 if report["systems"] else 1


def _write(report: Mapping[str, Any], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text(json.dumps(report, indent=1) + "\n")
    (out / "results.md").write_text(markdown(report))
    (out / "results.html").write_text(page(report))
    real = [system for system in report["systems"] if not system["control"]]
    (out / "picture.svg").write_text(picture(real, list(report["classes"])) + "\n")
    for system in real:
        (out / f"badge-{slug(system['name'])}.svg").write_text(badge(system) + "\n")
    print("\n".join(table(report)))
    print(f"\nWritten to {out}: results.html shows every class.")


def _report(name: str) -> Any:
    try:
        report = json.loads(Path(name).read_text())
    except (OSError, ValueError) as problem:
        raise BadTarget(f"{name} can't be read: {problem}") from None
    if not isinstance(report, dict) or "systems" not in report:
        raise BadTarget(f"{name} is not the results.json of a run: name such files")
    return report


def scored(chosen: Sequence[System], plan: Plan) -> dict[str, Any]:
    """Run systems with progress on standard error, and return the report."""
    progress = Progress(2 * len(chosen) * len(plan.worlds or worlds(plan.seed)))
    progress.tick(0)
    with tempfile.TemporaryDirectory(prefix="asofbench-run-") as scratch:
        outcomes = run(chosen, replace(plan, scratch=Path(scratch), tick=progress.tick))
    return {**results(outcomes, plan.seed, differences(plan.seed)), "limit": plan.limit}


def chosen_systems(names: Sequence[str]) -> list[System]:
    """Return the named systems: parts of the names of systems here, or what `found` takes. All of them without a name.

    Raises BadTarget.
    """
    every = (*SYSTEMS, *CONTROLS)
    chosen = [] if names else list(every)
    for name in names:
        chosen += [system for system in every if name in system.name] or [found(name)]
    return list({system.name: system for system in chosen}.values())


def _check(what: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise BadTarget(f"there is no {what} {name!r}: name one of {', '.join(known)}")


if __name__ == "__main__":
    sys.exit(main())
