"""Plants small faults one at a time and sees whether a test notices: `python -m tests.mutants.campaign --n N --seed S`.

Of every area the same number of mutants, drawn by the seed; more of them are the same ones and others. What was found
is kept in the folder and not sought again while the files are the same, so that a run can be broken off. Progress goes
to stderr, survivors with what they change to `survivors.diff`; exit code 1 where one is not in the reviewed list.

Ours, because mutmut 3 changes functions only, not the tables and patterns beside them, and its switch does not reach
processes that clear their environment, and cosmic-ray starts pytest anew for every mutant.
"""

import argparse
import difflib
import json
import os
import sys
import time
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.mutants.areas import AREAS, Area
from tests.mutants.operators import Mutant, is_one, mutants
from tests.mutants.running import (
    KILLED,
    OVERRAN,
    SURVIVED,
    UNTESTED,
    Bench,
    Broken,
    Tested,
    apart,
    chosen,
    digest,
    warm,
)

ROOT = Path(__file__).resolve().parents[2]
APART = "PITLAKE_MUTANTS_APART"
REVIEWED = Path(__file__).with_name("equivalent.toml")


def drawn(root: Path, areas: dict[str, Area], n: int, seed: int) -> Iterator[tuple[str, Mutant]]:
    """`n` mutants with their areas: one of each area in turn, as long as it has any."""
    waiting = {name: _shuffled(root, area, seed) for name, area in areas.items()}
    while waiting and n:
        for name in list(waiting):
            found = next(waiting[name], None)
            if found is None:
                del waiting[name]
            elif n:
                n -= 1
                yield name, found


def _shuffled(root: Path, area: Area, seed: int) -> Iterator[Mutant]:
    # By its name alone, so that a mutant keeps its place when others come and go.
    found = [mutant for name in area.sources(root) for mutant in mutants(name, (root / name).read_bytes())]
    found.sort(key=lambda mutant: sha256(f"{seed} {mutant.key}".encode()).digest())
    yield from (mutant for mutant in found if is_one(mutant, (root / mutant.path).read_bytes()))


def reviewed() -> dict[str, str]:
    """Of each survivor that was looked at and changes nothing a test could see: why."""
    return tomllib.loads(REVIEWED.read_text())


class Campaign:
    """One run, on what earlier runs in the same folder have found.

    seconds: how long the tests of one mutant may take together without it; the slowest are left out.
    """

    def __init__(self, bench: Bench, areas: dict[str, Area], seconds: float = 120) -> None:
        self._bench, self._areas, self._seconds = bench, areas, seconds
        self._kept = bench.folder / "found.jsonl"
        lines = self._kept.read_text().splitlines() if self._kept.exists() else []
        self._found = {told["key"]: told for told in map(json.loads, lines)}
        self._tested: dict[str, Tested] = {}

    def run(self, wanted: list[tuple[str, Mutant]]) -> Iterator[tuple[Mutant, str]]:
        """The mutants, area by area, and what became of each. Raises Broken."""
        for name, area in self._areas.items():
            asked = [mutant for of, mutant in wanted if of == name]
            if asked:
                yield from self._in_area(name, area, asked)

    def _in_area(self, name: str, area: Area, asked: list[Mutant]) -> Iterator[tuple[Mutant, str]]:
        tree = self._bench.tree
        tests = digest(tree, area.test_files(tree))
        for mutant in asked:
            source = digest(tree, [mutant.path])
            told = self._found.get(mutant.key, {})
            # A killed mutant stays so; one that survived may meet its test now.
            if told.get("source") != source or (told["verdict"] in {SURVIVED, UNTESTED} and told["tests"] != tests):
                if name not in self._tested:
                    self._tested[name] = self._bench.tested(area)
                told = {"key": mutant.key, "source": source, "tests": tests}
                told |= self._judged(area, mutant, self._tested[name])
                self._found[mutant.key] = told
                with self._kept.open("a") as kept:
                    kept.write(json.dumps(told) + "\n")
            yield mutant, told["verdict"]

    def _judged(self, area: Area, mutant: Mutant, tested: Tested) -> dict[str, Any]:
        asked = chosen(area, mutant, tested, {told["by"] for told in self._found.values()})
        if not asked:
            return {"verdict": UNTESTED, "by": ""}
        so_far = list(accumulate(tested[test][0] for test in asked))
        within = max(1, bisect_right(so_far, self._seconds))
        verdict, by = self._bench.verdict(mutant, asked[:within], so_far[within - 1])
        return {"verdict": verdict, "by": by}

    def difference(self, mutant: Mutant) -> str:
        """What a mutant changes, as a unified diff."""
        source = (self._bench.tree / mutant.path).read_bytes()
        changed = mutant.applied(source).decode().splitlines(keepends=True)
        lines = difflib.unified_diff(source.decode().splitlines(keepends=True), changed, mutant.path, mutant.path, n=2)
        return "".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign and tell what survived it."""
    parser = argparse.ArgumentParser(description="Plant small faults one at a time and see whether a test notices.")
    parser.add_argument("--n", type=int, default=400, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--seconds", type=float, default=120, help="how long the tests of one mutant may take")
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--folder", type=Path, default=ROOT / ".pitlake/mutants", help="where to work and keep results")
    asked = parser.parse_args(arguments)
    asked.folder.mkdir(parents=True, exist_ok=True)
    started, tally, survivors = time.monotonic(), Counter[str](), []
    known, areas = reviewed(), {name: AREAS[name] for name in asked.areas}
    campaign = Campaign(Bench(ROOT, asked.folder.resolve()), areas, asked.seconds)
    wanted = list(drawn(ROOT, areas, asked.n, asked.seed))
    warm()
    try:
        for number, (mutant, verdict) in enumerate(campaign.run(wanted), 1):
            tally[verdict] += 1
            print(f"{number} of {len(wanted)}, {time.monotonic() - started:,.0f} s: {verdict} {mutant.key}",
                  file=sys.stderr)  # fmt: skip
            if verdict in {SURVIVED, UNTESTED}:
                survivors.append((mutant, verdict))
    except Broken as broken:
        print(broken, file=sys.stderr)
        return 2
    opened = [mutant for mutant, _ in survivors if mutant.key not in known]
    told = (
        f"# {verdict}: {known.get(one.key, 'OPEN')}\n# {one.key}\n{campaign.difference(one)}\n"
        for one, verdict in survivors
    )
    (asked.folder / "survivors.diff").write_text("\n".join(told))
    print(f"mutants: {sum(tally.values())} of seed {asked.seed}, {tally[KILLED]} killed, {tally[OVERRAN]} overran, "
          f"{len(survivors)} survived ({tally[UNTESTED]} run by no test), {len(opened)} of them open: "
          f"{asked.folder / 'survivors.diff'}")  # fmt: skip
    return 1 if opened else 0


if __name__ == "__main__":
    if APART in os.environ or not (before := apart()):
        sys.exit(main())
    os.environ[APART] = "1"
    os.execvp(before[0], [*before, sys.executable, "-m", "tests.mutants.campaign", *sys.argv[1:]])
