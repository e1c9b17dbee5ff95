"""A run: environments from the package index, one worker per family of systems, and verdicts from their replies."""

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from asofbench.generate import HERE, cases, worlds
from asofbench.grading import Verdict, judge
from asofbench.large import NAME
from asofbench.model import Case, Reply
from asofbench.systems import ENVIRONMENTS, System
from asofbench.worker import slug

Content = dict[str, Any]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "asofbench"
INSTALL_SECONDS = 600
_INSTALLING = threading.Lock()
"""A family may have several workers, of which the first installs."""
_JAR = re.compile(r"([\w.]+):([\w.-]+)==([\w.-]+)")
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>asofbench</groupId><artifactId>jars</artifactId><version>1</version>
<packaging>pom</packaging><dependencies><dependency>
<groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>
</dependency></dependencies></project>"""
_VERSIONS = """
import sys, json
from importlib.metadata import version
print(json.dumps([[name, version(name)] for name in sys.argv[1:]]))
"""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run asks, and where. worlds, classes: some of them (default: all). tick: called after each load.
    limit: the most seconds of a worker.
    """

    seed: str
    cache: Path = CACHE
    scratch: Path = Path()
    worlds: Sequence[str] = ()
    classes: Sequence[str] = ()
    tick: Callable[[], None] = lambda: None
    limit: int = 840


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The outcome of one system: its verdicts, or why it did not run. costs: as a worker's log has them. large: what
    was measured of the class `thousand_instants`.
    """

    system: System
    verdicts: tuple[Verdict, ...] = ()
    seconds: float = 0.0
    costs: Mapping[str, Sequence[float]] = field(default_factory=dict)
    large: Mapping[str, Any] = field(default_factory=dict)
    versions: tuple[tuple[str, str], ...] = ()
    problem: str = ""


class Failed(Exception):
    """An environment or a worker that failed; its last lines of output say why."""


class Progress:
    """Prints how far a run is, and how long it will take, at once and then every second at most."""

    def __init__(self, loads: int) -> None:
        self._loads, self._done, self._begun, self._shown = loads, 0, time.monotonic(), -math.inf
        self._lock = threading.Lock()

    def tick(self, done: int = 1) -> None:
        """Count loads that have been asked about."""
        with self._lock:
            self._done += done
            now = time.monotonic()
            if now - self._shown < 1 and self._done < self._loads:
                return
            self._shown = now
            left = (now - self._begun) * (self._loads - self._done) / max(self._done, 1)
            text = f"about {left:.0f} s left" if self._done else "installing and loading"
            print(f"asofbench: {self._done} of {self._loads} loads, {text}", file=sys.stderr, flush=True)


def run(systems: Sequence[System], plan: Plan) -> list[Outcome]:
    """Score systems, one family per processor at a time; if there are fewer, each is divided by worlds. A system that
    fails does not raise an exception.
    """
    families: dict[str, list[System]] = {}
    for system in systems:
        families.setdefault(system.family, []).append(system)
    processors = os.cpu_count() or 1
    parts = 1 if NAME in plan.classes else max(1, processors // len(families))
    names = plan.worlds or [world.name for world in worlds(plan.seed)]
    shares = [names[part::parts] for part in range(parts) if names[part::parts]]
    link = plan.scratch / "path" / "asofbench"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(HERE)
    jobs = [(mine, replace(plan, worlds=share)) for mine in families.values() for share in shares]
    with ThreadPoolExecutor(max_workers=processors) as pool:
        found = [content for contents in pool.map(_family, *zip(*jobs, strict=True)) for content in contents]
    return [_outcome(system, plan.seed, [part for name, part in found if name == system.name]) for system in systems]


def _family(mine: list[System], plan: Plan) -> list[tuple[str, Content]]:
    """Return a share of the replies of each system of a family, or why there are none."""
    try:
        python = Path(sys.executable) if mine[0].here else environment(mine[0].family, plan.cache)
    except Failed as failed:
        return [(system.name, {"problem": f"not installed: {failed}"}) for system in mine]
    out = Path(tempfile.mkdtemp(dir=plan.scratch))
    some = [("--worlds", *plan.worlds), *([("--classes", *plan.classes)] if plan.classes else []), ("--",)]
    arguments = ["--seed", plan.seed, "--out", str(out), *(word for words in some for word in words)]
    command = [str(python), "-m", "asofbench.worker", *arguments, *(system.name for system in mine)]
    problem = ""
    try:
        _watched(command, plan)
    except Failed as failed:
        problem = str(failed) or "it wrote no replies"
    installed = versions(python, mine[0].family)
    contents = []
    for system in mine:
        file = out / f"{slug(system.name)}.json"
        content = json.loads(file.read_text()) if file.exists() else {"problem": problem}
        contents.append((system.name, {**content, "versions": installed}))
    return contents


def _outcome(system: System, seed: str, contents: Sequence[Content]) -> Outcome:
    installed = next((content["versions"] for content in contents if "versions" in content), ())
    if problem := next((content["problem"] for content in contents if "problem" in content), ""):
        return Outcome(system=system, versions=installed, problem=problem)
    replies = [reply for content in contents for reply in content["replies"]]
    costs = {name: [cost for content in contents for cost in content["costs"][name]] for name in contents[0]["costs"]}
    seconds = sum(content["seconds"] for content in contents)
    verdicts = tuple(graded(cases(seed), replies))
    apart = contents[0]["large"]
    return Outcome(system=system, verdicts=verdicts, seconds=seconds, costs=costs, large=apart, versions=installed)


def graded(case_list: Iterable[Case], reply_list: Iterable[tuple[str, str, dict[str, object]]]) -> list[Verdict]:
    """Return the verdict on every case with replies."""
    replies = {(case, which): Reply(**reply) for case, which, reply in reply_list}  # type: ignore[arg-type]
    kinds = ("asked", "twin", "later", "control")
    return [
        judge(case, *(replies[case.id, kind] for kind in kinds)) for case in case_list if (case.id, "asked") in replies
    ]


def place_of(family: str, cache: Path) -> Path:
    """Return the folder of a family's environment, which has the file `whole` once all is installed."""
    return cache / f"{family}-{hashlib.sha256(chr(10).join(ENVIRONMENTS[family]).encode()).hexdigest()[:12]}"


def environment(family: str, cache: Path) -> Path:
    """Return the Python of a family's environment, which is created from the package index if missing."""
    packages, place = ENVIRONMENTS[family], place_of(family, cache)
    python = place / "bin" / "python"
    with _INSTALLING:
        if not (place / "whole").exists():
            shutil.rmtree(place, ignore_errors=True)
            _install(place, python, packages)
            (place / "whole").touch()
    return python


def _jar(packages: Sequence[str]) -> re.Match[str] | None:
    """Return the group, name and version of the jar that a family's environment consists of, None of packages."""
    return _JAR.fullmatch(packages[0]) if packages else None


def _install(place: Path, python: Path, packages: Sequence[str]) -> None:
    if jar := _jar(packages):
        # The folder `jars` gets the jar and all that it needs, by Maven.
        if missing := [program for program in ("java", "mvn") if not shutil.which(program)]:
            raise Failed(f"{' and '.join(missing)} must be on the path")
        _call([sys.executable, "-m", "venv", "--without-pip", str(place)], INSTALL_SECONDS)
        (place / "pom.xml").write_text(_POM.format(*jar.groups()))
        copy = ["dependency:copy-dependencies", f"-DoutputDirectory={place / 'jars'}"]
        _call(["mvn", "-q", "-B", "-f", str(place / "pom.xml"), *copy], INSTALL_SECONDS)
        return
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv:
        install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(python)]
        _call([uv, "venv", "--quiet", "--python", sys.executable, str(place)], INSTALL_SECONDS)
        _call([*install, *packages], INSTALL_SECONDS)
    else:
        _call([sys.executable, "-m", "venv", str(place)], INSTALL_SECONDS)
        _call([str(python), "-m", "pip", "install", "--quiet", *packages], INSTALL_SECONDS)


def versions(python: Path, family: str) -> tuple[tuple[str, str], ...]:
    """Return the installed versions of a family's packages: (package, version)."""
    packages = ENVIRONMENTS.get(family, (family,))
    if jar := _jar(packages):
        file = python.parents[1] / "jars" / f"{jar[2]}-{jar[3]}.jar"
        return ((jar[2], jar[3]),) if file.exists() else ()
    names = [package.split("==")[0].split("[")[0] for package in packages]
    try:
        installed = json.loads(_call([str(python), "-c", _VERSIONS, *names], 60))
    except Failed:
        return ()
    return tuple((name, version) for name, version in installed)


def _watched(command: list[str], plan: Plan) -> None:
    """Run a worker, which writes a line after each load. Raises Failed if it fails or takes too long."""
    settings = _settings(PYTHONPATH=str(plan.scratch / "path"))
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        opened = subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, stderr=errors, text=True)
        too_long = threading.Timer(plan.limit, opened.kill)
        too_long.start()
        with opened as process:
            for _ in process.stdout or ():
                plan.tick()
        is_in_time = too_long.is_alive()
        too_long.cancel()
        if not is_in_time:
            raise Failed(f"took more than {plan.limit} s")
        if process.returncode:
            errors.seek(0)
            raise Failed(errors.read().strip()[-600:])


def _settings(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")} | more


def _call(command: list[str], seconds: int) -> str:
    try:
        done = subprocess.run(command, env=_settings(), capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"took more than {seconds} s") from None
    if done.returncode:
        raise Failed((done.stderr or done.stdout).strip()[-600:])
    return done.stdout
