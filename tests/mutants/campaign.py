"""Plants small faults one at a time and checks that a test notices: `python -m tests.mutants.campaign --n N --seed S`.

Every area gets the same number of mutants, drawn by the seed; a larger draw includes the smaller ones. The fast lane
judges first. The long lane judges the mutants that passed, so that the lanes can be compared. Verdicts are stored in
the folder and reused while the files stay the same, so that a run can be interrupted. Progress goes to stderr, and the
survivors' diffs go to `survivors.diff`. The exit code is 1 if a survivor is not in the reviewed list.

Other tools do not fit: mutmut 3 changes functions but not module-level tables and patterns, and its switch does not
reach processes that clear their environment. cosmic-ray restarts pytest for every mutant.
"""

import argparse
import difflib
import json
import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from tests.mutants.areas import AREAS, Area
from tests.mutants.bench import Bench, Broken, apart, digest, warm
from tests.mutants.operators import Mutant, is_one, mutants
from tests.mutants.running import (
    GRACE,
    KILLED,
    OVERRAN,
    SURVIVED,
    UNTESTED,
    Verdict,
    fitting,
    has_its_name,
    judge,
    ranked,
)
from tests.mutants.tracing import Traces, collected

ROOT = Path(__file__).resolve().parents[2]
APART = "PITLAKE_MUTANTS_APART"
REVIEWED = Path(__file__).with_name("equivalent.toml")
EQUIVALENT = "equivalent"


def drawn(root: Path, areas: dict[str, Area], n: int, seed: int) -> Iterator[tuple[str, Mutant]]:
    """Yield `n` mutants with their areas, one of each area in turn while it has any."""
    waiting = {name: _shuffled(root, area, seed) for name, area in areas.items()}
    while waiting and n:
        for name in list(waiting):
            mutant = next(waiting[name], None)
            if mutant is None:
                del waiting[name]
            elif n:
                n -= 1
                yield name, mutant


def _shuffled(root: Path, area: Area, seed: int) -> Iterator[Mutant]:
    # The order depends on names alone, so that a mutant keeps its place when others are added or removed.
    every = [mutant for name in area.sources(root) for mutant in mutants(name, (root / name).read_bytes())]
    every.sort(key=lambda mutant: sha256(f"{seed} {mutant.key}".encode()).digest())
    yield from (mutant for mutant in every if is_one(mutant, (root / mutant.path).read_bytes()))


def reviewed() -> dict[str, str]:
    """Return, for each reviewed mutant, why no test can notice it."""
    return tomllib.loads(REVIEWED.read_text())


@dataclass(frozen=True, slots=True)
class Record:
    """The verdict on a mutant, and the files for which it is valid.

    tests: the hash of the area's tests, their lanes and the time limits. lane: "fast" or "long", the lane of the test
    that noticed the mutant.
    """

    key: str
    area: str
    source: str
    tests: str
    verdict: str
    by: str
    lane: str
    cpu: float
    left_out: int = 0

    @property
    def noticed(self) -> bool:
        """Return whether a test failed or never ended."""
        return self.verdict in {KILLED, OVERRAN}


class Campaign:
    """A run that reuses the verdicts of earlier runs in the same folder.

    fast, long: the CPU seconds for one mutant in each lane. Tests that do not fit are left out; 0 leaves out
    the whole lane.
    """

    def __init__(
        self, bench: Bench, areas: dict[str, Area], fast: float = 60, long: float = 60, grace: int = GRACE
    ) -> None:
        self._bench, self._areas, self._seconds, self._grace = bench, areas, {"fast": fast, "long": long}, grace
        self._kept = bench.folder / "verdicts.jsonl"
        lines = self._kept.read_text().splitlines() if self._kept.exists() else []
        self._records = {record.key: record for record in (Record(**json.loads(line)) for line in lines)}
        self._known = reviewed()
        files = {name: area.test_files(bench.tree) for name, area in areas.items()}
        self._lanes = collected(bench, sorted(set().union(*files.values())))
        self._tests = {name: self._among(set(of_area)) for name, of_area in files.items()}
        self._states = {name: self._state(name, of_area) for name, of_area in files.items()}
        self._traces = Traces(bench)

    def _among(self, files: set[str]) -> dict[str, bool]:
        return {test: is_long for test, is_long in self._lanes.items() if test.partition("::")[0] in files}

    def _state(self, name: str, files: list[str]) -> str:
        state = [digest(self._bench.tree, files), self._seconds, sorted(self._tests[name].items())]
        return sha256(json.dumps(state).encode()).hexdigest()

    def run(self, expected: list[tuple[str, Mutant]]) -> Iterator[tuple[Mutant, Record]]:
        """Yield the mutants, area by area, each with its verdict. Raises Broken."""
        for name in self._areas:
            for mutant in (mutant for of, mutant in expected if of == name):
                yield mutant, self._record(name, mutant)

    def _record(self, name: str, mutant: Mutant) -> Record:
        source, state = digest(self._bench.tree, [mutant.path]), self._states[name]
        if mutant.key in self._known:
            return Record(mutant.key, name, source, state, EQUIVALENT, "", "", 0)
        before = self._records.get(mutant.key)
        # Verdicts of fast tests stay valid. Other mutants may have a new fast test.
        if before and before.source == source and (before.tests == state or self._lanes.get(before.by) is False):
            return before
        verdict, lane = self._judged(self._areas[name], mutant, self._tests[name])
        record = Record(mutant.key, name, source, state, lane=lane, **asdict(verdict))
        self._records[mutant.key] = record
        with self._kept.open("a") as remaining:
            remaining.write(json.dumps(asdict(record)) + "\n")
        return record

    def _judged(self, area: Area, mutant: Mutant, tests: dict[str, bool]) -> tuple[Verdict, str]:
        cpu, left_out, ran = 0.0, 0, False
        source = (self._bench.tree / mutant.path).read_bytes()
        for lane, seconds in self._seconds.items():
            of_lane = {test for test, is_long in tests.items() if is_long == (lane == "long")} if seconds else set()
            costs: dict[str, float] = {}
            # A likely file notices most mutants, before the other files are traced and imported.
            for among in (self._likely(mutant, of_lane), of_lane):
                self._traces.measure(among)
                order = ranked(area, mutant, source, self._traces, self._kills(mutant))
                candidates = [test for test in order if test in among and test not in costs]
                more = fitting(candidates, self._traces, seconds - sum(costs.values()))
                if more:
                    verdict, ran = judge(self._bench, mutant, more, self._grace), True
                    cpu = round(cpu + verdict.cpu, 2)
                    if verdict.verdict != SURVIVED:
                        return Verdict(verdict.verdict, verdict.by, cpu, left_out), lane
                costs |= more
            left_out += len(candidates) - len(more)
        return Verdict(SURVIVED if ran else UNTESTED, "", cpu, left_out), ""

    def _likely(self, mutant: Mutant, tests: set[str]) -> set[str]:
        """Return the tests of the file that noticed most mutants of the same source, or that is named after it."""
        kills = self._kills(mutant)
        files = {test.partition("::")[0] for test in tests}
        likely = [file for file in files if kills[file] or has_its_name(file, mutant)]
        first = min(likely, key=lambda file: (-kills[file], file), default=None)
        return {test for test in tests if test.partition("::")[0] == first}

    def _kills(self, mutant: Mutant) -> Counter[str]:
        """Return the number of mutants of the same source that each test file noticed."""
        records = (record for record in self._records.values() if record.key.startswith(f"{mutant.path}::"))
        return Counter(record.by.partition("::")[0] for record in records if record.noticed)

    def difference(self, mutant: Mutant) -> str:
        """Return what a mutant changes, as a unified diff."""
        source = (self._bench.tree / mutant.path).read_bytes()
        changed = mutant.applied(source).decode().splitlines(keepends=True)
        lines = difflib.unified_diff(source.decode().splitlines(keepends=True), changed, mutant.path, mutant.path, n=2)
        return "".join(lines)


def report(records: list[Record]) -> Iterator[str]:
    """Yield lines about the mutants of each area, the CPU time, and the mutants that the fast lane missed."""
    for area in dict.fromkeys(record.area for record in records):
        among = [record for record in records if record.area == area]
        counts = Counter(record.lane or record.verdict for record in among)
        yield (
            f"{area}: {len(among)} mutants, {counts['fast']} killed by fast tests, {counts['long']} only by long ones, "
            f"{counts[SURVIVED]} survived all, {counts[UNTESTED]} run by no test, {counts[EQUIVALENT]} equivalent"
        )
    cpu = [record.cpu for record in records if record.verdict != EQUIVALENT]
    unsure = sum(record.left_out > 0 for record in records if record.lane != "fast")
    yield (
        f"{sum(cpu) / max(1, len(cpu)):.1f} CPU seconds a mutant; "
        f"of {unsure} that a lane let pass some tests were left out for lack of time"
    )
    noticed = [record for record in records if record.noticed]
    missed = [record for record in noticed if record.lane == "long"]
    for record in missed:
        yield f"missed by the fast lane, {record.area}: {record.key}, noticed by {record.by}"
    fast = len(noticed) - len(missed)
    yield f"fast lane catches {fast} of {len(noticed)} that all tests catch ({100 * fast / max(1, len(noticed)):.1f} %)"


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign and report the survivors."""
    parser = argparse.ArgumentParser(description="Plant small faults one at a time and see whether a test notices.")
    parser.add_argument("--n", type=int, default=400, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--fast", type=float, default=60, help="CPU seconds that fast tests may take of one mutant")
    parser.add_argument("--long", type=float, default=60, help="CPU seconds that long tests may take of one mutant")
    parser.add_argument("--areas", nargs="+", choices=AREAS, default=list(AREAS))
    parser.add_argument("--folder", type=Path, default=ROOT / ".pitlake/mutants", help="where to work and keep results")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    started, existing, areas = time.monotonic(), reviewed(), {name: AREAS[name] for name in options.areas}
    warm()
    records: dict[Mutant, Record] = {}
    try:
        campaign = Campaign(Bench(ROOT, options.folder.resolve()), areas, options.fast, options.long)
        expected = list(drawn(ROOT, areas, options.n, options.seed))
        for number, (mutant, record) in enumerate(campaign.run(expected), 1):
            records[mutant] = record
            print(f"{number} of {len(expected)}, {time.monotonic() - started:,.0f} s: {record.verdict} {record.lane} "
                  f"{record.cpu} {mutant.key}", file=sys.stderr)  # fmt: skip
    except Broken as broken:
        print(broken, file=sys.stderr)
        return 2
    survivors = [(mutant, record.verdict) for mutant, record in records.items() if not record.noticed]
    session = [mutant for mutant, _ in survivors if mutant.key not in existing]
    (options.folder / "survivors.diff").write_text("\n".join(
        f"# {verdict}: {existing.get(mutant.key, 'OPEN')}\n# {mutant.key}\n{campaign.difference(mutant)}\n"
        for mutant, verdict in survivors
    ))  # fmt: skip
    print(f"mutants: {len(records)} of seed {options.seed}, {len(survivors)} survived, {len(session)} of them open: "
          f"{options.folder / 'survivors.diff'}")  # fmt: skip
    print("\n".join(report(list(records.values()))))
    return 1 if session else 0


if __name__ == "__main__":
    if APART in os.environ or not (before := apart()):
        sys.exit(main())
    os.environ[APART] = "1"
    os.execvp(before[0], [*before, sys.executable, "-m", "tests.mutants.campaign", *sys.argv[1:]])
