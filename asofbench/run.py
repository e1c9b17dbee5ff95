"""A run: environments from the package index, one worker per family of systems, and verdicts from their replies."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from asofbench.generate import cases
from asofbench.grading import Verdict, judge
from asofbench.model import Case, Reply
from asofbench.systems import ENVIRONMENTS, System
from asofbench.worker import slug

ROOT = Path(__file__).resolve().parents[1]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "asofbench"
MOST_SECONDS = 840
INSTALL_SECONDS = 600
_VERSIONS = """
import sys, json
from importlib.metadata import version
print(json.dumps([[name, version(name)] for name in sys.argv[1:]]))
"""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of one system: its verdicts, or why it did not run."""

    system: System
    verdicts: tuple[Verdict, ...] = ()
    seconds: float = 0.0
    versions: tuple[tuple[str, str], ...] = ()
    problem: str = ""


class Failed(Exception):
    """An environment or a worker that failed; its last lines of output say why."""


def run(systems: Sequence[System], seed: str, cache: Path, scratch: Path, worlds: Sequence[str] = ()) -> list[Outcome]:
    """Score systems, one family per processor at a time. A system that fails does not raise an exception."""
    families: dict[str, list[System]] = {}
    for system in systems:
        families.setdefault(system.family, []).append(system)
    run_family = partial(_family, seed=seed, cache=cache, scratch=scratch, worlds=worlds)
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        outcome_list = [outcome for outcomes in pool.map(run_family, families.values()) for outcome in outcomes]
    order = [system.name for system in systems]
    return sorted(outcome_list, key=lambda outcome: order.index(outcome.system.name))


def _family(mine: list[System], seed: str, cache: Path, scratch: Path, worlds: Sequence[str]) -> list[Outcome]:
    try:
        python = Path(sys.executable) if mine[0].here else environment(mine[0].family, cache)
    except Failed as failed:
        return [Outcome(system=system, problem=f"not installed: {failed}") for system in mine]
    arguments = ["--seed", seed, "--out", str(scratch), *(["--worlds", *worlds, "--"] if worlds else [])]
    command = [str(python), "-m", "asofbench.worker", *arguments, *(system.name for system in mine)]
    problem = ""
    try:
        _call(command, MOST_SECONDS, PYTHONPATH=str(ROOT))
    except Failed as failed:
        problem = str(failed)
    installed = versions(python, mine[0].family)
    return [_outcome(system, seed, scratch, installed, problem) for system in mine]


def _outcome(system: System, seed: str, scratch: Path, installed: tuple[tuple[str, str], ...], problem: str) -> Outcome:
    file = scratch / f"{slug(system.name)}.json"
    if not file.exists():
        return Outcome(system=system, versions=installed, problem=problem or "it wrote no replies")
    content = json.loads(file.read_text())
    verdicts = graded(cases(seed), content["replies"])
    return Outcome(system=system, verdicts=tuple(verdicts), seconds=content["seconds"], versions=installed)


def graded(case_list: Iterable[Case], reply_list: Iterable[tuple[str, str, dict[str, object]]]) -> list[Verdict]:
    """Return the verdict on every case with replies."""
    replies = {(case, which): Reply(**reply) for case, which, reply in reply_list}  # type: ignore[arg-type]
    kinds = ("asked", "twin", "later", "control")
    return [
        judge(case, *(replies[case.id, kind] for kind in kinds)) for case in case_list if (case.id, "asked") in replies
    ]


def environment(family: str, cache: Path) -> Path:
    """Return the Python of a family's environment, which is created from the package index if missing."""
    packages = ENVIRONMENTS[family]
    name = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    place = cache / f"{family}-{name}"
    python = place / "bin" / "python"
    if not (place / "whole").exists():
        shutil.rmtree(place, ignore_errors=True)
        uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
        if uv:
            install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)]
            _call([uv, "venv", "--quiet", "--python", sys.executable, str(place)], INSTALL_SECONDS)
            _call([*install, *packages], INSTALL_SECONDS)
        else:
            _call([sys.executable, "-m", "venv", str(place)], INSTALL_SECONDS)
            _call([str(python), "-m", "pip", "install", "--quiet", *packages], INSTALL_SECONDS)
        (place / "whole").touch()
    return python


def versions(python: Path, family: str) -> tuple[tuple[str, str], ...]:
    """Return the installed versions of a family's packages: (package, version)."""
    names = [package.split("==")[0].split("[")[0] for package in ENVIRONMENTS.get(family, (family,))]
    try:
        installed = json.loads(_call([str(python), "-c", _VERSIONS, *names], 60))
    except Failed:
        return ()
    return tuple((name, version) for name, version in installed)


def _call(command: list[str], seconds: int, **more: str) -> str:
    settings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")} | more
    try:
        done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"took more than {seconds} s") from None
    if done.returncode:
        raise Failed((done.stderr or done.stdout).strip()[-600:])
    return done.stdout
