"""Retraction: the new version is the same as for a lake without the run, and older versions keep their bytes."""

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pitlake.contract import gap_table_name
from pitlake.errors import BadInput, VersionVacuumed
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.storage.manifest import DataFile
from pitlake.lake.upkeep.retract import Retracted
from pitlake.session import connect
from pitlake.tombstones import superseded_table_name
from tests.lake.world import KINDS, TOY, Toy, data_files, publish, rows, utc
from tests.tally import Tally

NOON = utc("2024-03-05T12:00:00-05:00")
BRANCHES = 20
CAPTURED = replace(TOY, group="external")
EVERY_KIND = {**KINDS, "captured": CAPTURED, "captured history": replace(CAPTURED, revised_at="available_at")}
A, B = Toy("a", "x", NOON), Toy("b", "x", NOON)


def replace_text(toy: Toy, text: str) -> Toy:
    return toy._replace(text=text)


def day(number: int) -> datetime:
    return NOON + timedelta(days=number)


@dataclass(frozen=True)
class Run:
    """One run of a history: the toys and gaps it read, and when."""

    name: str
    toys: tuple[Toy, ...]
    at: datetime
    gaps: tuple[str, ...] = ()
    complete: bool = False

    def publish(self, lake: Lake, dataset=TOY) -> datetime:
        """Publish the run, and return an instant by which the lake knew it."""
        missing = {day(-30).date(): [StagedGap("no_data", "no text", f"Toy:{key}", day(-30)) for key in self.gaps]}
        publish(lake, self.toys, self.at, missing if self.gaps else None, dataset, self.name, complete=self.complete)
        return lake.now()


@dataclass(frozen=True)
class Shown:
    """All rows, gaps and tombstones of the toys in one version of a lake."""

    rows: list
    gaps: list
    tombstones: list

    @classmethod
    def of(cls, lake: Lake, known_by: datetime | None = None, version: int | None = None) -> "Shown":
        snapshot = lake.snapshot(version, known_by)

        def table(name: str) -> list:
            content = [line for file in snapshot.files(name) for line in lines_of(file)]
            return sorted(content, key=lambda line: str(sorted(line.items())))

        return cls(table("toys"), table(gap_table_name("toys")), table(superseded_table_name("toys")))


@lru_cache(maxsize=2000)
def lines_of(file: DataFile) -> list[dict]:
    """Return the rows of a file. Caching is safe because `History.check` verifies that no file has changed."""
    lines = pq.read_table(file.path, partitioning=None).to_pylist()
    beside = pq.read_table(file.beside.path, partitioning=None).to_pylist() if file.beside else lines
    lines = [line | seen for line, seen in zip(lines, beside, strict=True)]
    # Gaps of late replays have wall-clock dates.
    return [line | {"available_at": min(line["available_at"], day(365))} for line in lines]


@dataclass
class Undisturbed:
    """Lakes with only some runs of a history, each built from a copy of the lake without the last run."""

    folder: Path
    dataset: object
    lakes: dict[tuple[Run, ...], tuple[Path, Shown]] = field(default_factory=dict)

    def after(self, runs: tuple[Run, ...]) -> Shown:
        """Return what a lake shows after these runs."""
        return self._lake(runs)[1]

    def _lake(self, runs: tuple[Run, ...]) -> tuple[Path, Shown]:
        if runs not in self.lakes:
            before = self._lake(runs[:-1])[0] if runs else None
            lake = Lake(self.folder / str(len(self.lakes)))
            if before is None:
                lake.start()
            else:
                shutil.copytree(before, lake.root)
                runs[-1].publish(lake, self.dataset)
            self.lakes[runs] = lake.root, Shown.of(lake)
        return self.lakes[runs]


@dataclass
class History:
    """A lake, its runs and the instants after them, and the content of each of its versions."""

    lake: Lake
    dataset: object = TOY
    runs: list[Run] = field(default_factory=list)
    instants: list[datetime] = field(default_factory=list)
    shown: dict[int, tuple[Shown, dict]] = field(default_factory=dict)
    retracted: list[str] = field(default_factory=list)
    undisturbed: Undisturbed | None = None

    @property
    def left(self) -> list[Run]:
        """Return the runs that were not retracted."""
        return [run for run in self.runs if run.name not in self.retracted]

    def copy(self, root: Path) -> "History":
        """Return the same history in a separate lake."""
        shutil.copytree(self.lake.root, root)
        lists = {name: list(getattr(self, name)) for name in ("runs", "instants", "retracted")}
        return replace(self, lake=Lake(root), shown=dict(self.shown), **lists)

    def add(self, run: Run) -> None:
        self.instants.append(run.publish(self.lake, self.dataset))
        self.runs.append(run)
        self.remember()

    def retract(self, run: str, reason: str = "it was wrong", *, dry_run: bool = False) -> Retracted:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Lake, "contracts", lambda *_: {"toys": self.dataset})
            result = self.lake.retract(run, reason, dry_run=dry_run)
        if not dry_run:
            self.retracted.append(run)
            self.remember()
        return result

    def remember(self) -> None:
        root = self.lake.root
        files = {path.relative_to(root): path.read_bytes() for path in data_files(self.lake)}
        self.shown.setdefault(self.lake.head(), (Shown.of(self.lake), files))

    def check(self) -> None:
        """Compare the lake with lakes in which the retracted runs never happened."""
        root = self.lake.root
        self.undisturbed = self.undisturbed or Undisturbed(root.with_name(f"{root.name} undisturbed"), self.dataset)
        after = self.undisturbed.after
        assert Shown.of(self.lake) == after(tuple(self.left))
        for number, (run, at) in enumerate(zip(self.runs, self.instants, strict=True), 1):
            happened = tuple(each for each in self.runs[:number] if each in self.left)
            assert Shown.of(self.lake, at) == after(happened), (run, happened)
        for version, (display, files) in self.shown.items():
            assert [path for path, content in files.items() if (root / path).read_bytes() != content] == []
            assert Shown.of(self.lake, version=version) == display


@pytest.fixture
def history(lake):
    return History(lake)


def test_rows_and_gaps_of_a_retracted_run_are_gone_as_of_every_instant(history):
    history.add(Run("good", (A,), day(1)))
    history.add(Run("bad", (replace_text(A, "wrong"), B), day(2), gaps=("c",)))
    history.retract("bad")
    assert [row.text for row in rows(history.lake)] == ["x"]
    history.check()
    entry = history.lake.entry()
    assert (entry.operation, entry.run_id, entry.reason) == ("retract", "bad", "it was wrong")
    assert (entry.counts["rows"], entry.counts["gaps"]) == (2, 1)


def test_a_retracted_row_confirmed_by_a_later_run_is_dated_by_that_run(history):
    history.add(Run("first", (A,), day(1)))
    history.add(Run("bad", (replace_text(A, "y"), B), day(2)))
    history.add(Run("later", (replace_text(A, "y"),), day(3)))
    history.retract("bad")
    assert [(row.text, row.available_at) for row in rows(history.lake)] == [("x", NOON), ("y", day(3))]
    history.check()


def test_the_correction_of_a_retracted_row_returns_to_its_original_date(history):
    history.add(Run("bad", (replace_text(A, "wrong"),), day(1)))
    history.add(Run("later", (A,), day(2)))
    assert [row.available_at for row in rows(history.lake)] == [NOON, day(2)]
    history.retract("bad")
    assert [(row.text, row.available_at) for row in rows(history.lake)] == [("x", NOON)]
    history.check()


@pytest.mark.parametrize("texts", ["xy", "xx"], ids=["publishes a row", "confirms a row"])
def test_a_row_confirmed_between_two_retracted_runs_is_not_lost(history, texts):
    for number, (name, toys) in enumerate({"bad": (A,), "same": (A,), "worse": (replace_text(A, texts[1]),)}.items()):
        history.add(Run(name, toys, day(number + 1), complete=True))
    for name in ("bad", "worse"):
        history.retract(name)
        history.check()
    assert [(row.text, row.observed_at) for row in rows(history.lake)] == [("x", day(2))]


def mount_toys(lake, texts):
    toys = pa.table({"key": [*texts], "text": [*texts.values()], "seen": ["2024-03-01"] * len(texts)})
    lake.mount(toys, "own", key="key", available_at="seen")
    return lake.entry().run_id


def own_toys(lake, view="own"):
    with connect(lake.now().isoformat(), lake=lake, datasets=["own"], isolation="in_process") as session:
        return session.sql(f"SELECT key, text FROM {view} ORDER BY ALL").rows()


@pytest.mark.parametrize(("repeats", "shown"), [("withdraw", "ax cx"), ("keep", "ay bx cx")])
def test_retracting_a_mount_requires_a_choice_for_rows_mounted_again_later(lake, repeats, shown):
    mount_toys(lake, {"a": "x"})
    bad = mount_toys(lake, {"a": "y", "b": "x"})
    later = mount_toys(lake, {"a": "y", "b": "x", "c": "x"})
    with pytest.raises(
        BadInput, match=f"repeats: 2 of the run's rows were mounted again by {later}; give --repeats wi"
    ):
        lake.retract(bad, "it was wrong")
    with pytest.raises(BadInput, match="'drop' is not a choice; give withdraw or keep"):
        lake.retract(bad, "it was wrong", repeats="drop")
    assert lake.retract(bad, "it was wrong", dry_run=True).version is None
    lake.retract(bad, "it was wrong", repeats=repeats)
    assert " ".join(map("".join, own_toys(lake))) == shown


def test_repeats_stay_withdrawn_when_another_run_is_retracted(lake):
    """A row stays if it was also in an earlier mount."""
    runs = [mount_toys(lake, texts) for texts in ({"z": "x"}, {"a": "x"}, {"a": "y"}, {"a": "x", "b": "x"})]
    mount_toys(lake, {"a": "x", "b": "x", "c": "x"})
    lake.retract(runs[3], "it was wrong", repeats="withdraw")
    assert own_toys(lake) == [("a", "y"), ("c", "x"), ("z", "x")]
    lake.retract(runs[0], "it was wrong, too", repeats="keep")
    assert own_toys(lake, "own_revisions") == [("a", "x"), ("a", "y"), ("c", "x")]


def test_withdrawn_and_vacuumed_rows_do_not_affect_later_mounts(lake):
    bad = mount_toys(lake, {"a": "x"})
    mount_toys(lake, {"a": "x", "b": "x"})
    lake.retract(bad, "it was wrong", repeats="withdraw")
    assert own_toys(lake) == [("b", "x")]
    lake.vacuum(timedelta(0), grace=timedelta(0), dry_run=False)
    wrong = mount_toys(lake, {"a": "x", "b": "y"})
    mount_toys(lake, {"a": "x", "b": "y", "c": "x"})
    lake.retract(wrong, "it was wrong, too", repeats="keep")
    assert own_toys(lake) == [("a", "x"), ("b", "y"), ("c", "x")]
    for text in "xy":
        lake.mount(pa.table({"key": ["a"], "text": [text]}), "other", key="key")
    lake.retract(lake.entry(lake.head() - 1).run_id, "it was wrong")
    with connect(lake.now().isoformat(), lake=lake, datasets=["other"], isolation="in_process") as session:
        assert session.sql("SELECT text FROM other_revisions").rows() == [("y",)]


@pytest.mark.parametrize(
    ("run", "reason", "problem"),
    [("unknown", "why", "has no run"), ("bad", " ", "is empty"), ("gone", "why", "was retracted before, in version 3")],
)
def test_an_invalid_retraction_is_refused_and_changes_nothing(history, run, reason, problem):
    history.add(Run("gone", (A,), day(1)))
    history.add(Run("bad", (B,), day(2)))
    history.retract("gone")
    with pytest.raises(BadInput, match=problem):
        history.retract(run, reason)
    assert history.lake.head() == 3


def test_an_unfinished_run_cannot_be_retracted_and_a_retracted_run_cannot_publish(history):
    history.add(Run("bad", (A,), day(1)))
    with history.lake.stage(TOY, "bad"), pytest.raises(BadInput, match="has not ended"):
        history.retract("bad")
    history.retract("bad")
    polls = {*(history.lake.root / "_lake" / "polls").rglob("*")}
    with pytest.raises(BadInput, match="bad was retracted in version 2"):
        Run("bad", (B,), day(2)).publish(history.lake)
    assert {*(history.lake.root / "_lake" / "polls").rglob("*")} == polls


def test_a_dry_run_counts_and_changes_nothing(history):
    history.add(Run("bad", (A, B), day(1)))
    assert history.retract("bad", dry_run=True).rows == {"toys": 2}
    assert history.lake.head() == 1


def test_polls_of_a_retracted_run_are_ignored(history):
    history.dataset = CAPTURED
    history.add(Run("bad", (), day(1), complete=True))
    history.retract("bad")
    assert history.lake.polls("toys") == []
    assert [poll.run_id for poll in history.lake.polls("toys", version=0)] == ["bad"]
    history.add(Run("later", (A,), day(2)))
    assert [row.available_at for row in rows(history.lake)] == [NOON]
    history.check()


def test_compaction_before_or_after_a_retraction_does_not_change_the_result(history):
    for number, text in enumerate("xyz"):
        history.add(Run(f"run{number}", (replace_text(A, text), Toy("m", text, day(-50 * number))), day(1 + number)))
        history.lake.compact(TOY, "2026-01")
        history.remember()
    history.retract("run1")
    history.check()
    before = rows(history.lake)
    history.lake.compact(TOY, "2026-01")
    assert rows(history.lake) == before


def test_vacuum_keeps_files_that_known_by_needs_until_their_version_expires(history):
    history.add(Run("good", (A,), day(1)))
    history.add(Run("bad", (B,), day(2)))
    history.add(Run("later", (replace_text(A, "y"),), day(3)))
    history.retract("bad")
    history.lake.vacuum(grace=timedelta(0), dry_run=False)
    history.check()
    history.lake.vacuum(timedelta(0), grace=timedelta(0), dry_run=False)
    assert [row.text for row in rows(history.lake)] == ["x", "y"]
    history.lake.compact(TOY, "2026-01")
    history.lake.vacuum(timedelta(0), grace=timedelta(0), dry_run=False)
    with pytest.raises(VersionVacuumed, match="; nothing was retracted: restore these files from a copy of the lake"):
        history.retract("later")


RECORDS = ((), (A,), (replace_text(A, "y"),), (A, B))


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.long
def test_every_history_of_three_runs_reads_as_if_the_retracted_run_never_happened(tmp_path, kind, bad):
    undisturbed = Undisturbed(tmp_path / "undisturbed", EVERY_KIND[kind])
    for number, reads in enumerate(product(RECORDS, repeat=3)):
        history = History(Lake(tmp_path / str(number)), EVERY_KIND[kind], undisturbed=undisturbed)
        for place, toys in enumerate(reads):
            history.add(Run(f"run{place}", toys, day(place + 1), complete=True))
        if history.lake.polls("toys"):
            history.retract(f"run{bad}")
            history.check()


def script(dice: random.Random) -> Iterator[Run]:
    """Yield the runs of a random history with edits, deletions, gaps and late replays."""
    source: dict[str, Toy] = {}
    now = NOON
    for number in range(dice.randint(3, 9)):
        now += timedelta(hours=dice.randint(1, 60))
        for key in dice.sample("abcd", dice.randint(0, 3)):
            old = source.get(key)
            at = old.available_at if old and dice.random() < 0.7 else now - timedelta(hours=dice.randint(0, 90))
            source[key] = Toy(key, dice.choice("xyz"), at, now - timedelta(hours=dice.randint(0, 50)))
        if source and dice.random() < 0.2:
            del source[dice.choice(sorted(source))]
        read = dice.sample(sorted(source.values()), dice.randint(0, len(source)))
        late = timedelta(hours=dice.randint(1, 100) if dice.random() < 0.15 else 0)
        public = tuple(toy for toy in read if toy.available_at <= now - late)
        gaps = tuple(dice.sample("abcd", dice.choice((0, 0, 1))))
        yield Run(f"run{number}", public, now - late, gaps, complete=dice.random() < 0.3)


def go_on(history: History, runs: list[Run], dice: random.Random) -> None:
    """Continue a history with its runs, compactions and retractions. The first retraction comes immediately."""
    for number, run in enumerate([None, *runs]):
        if run is not None:
            history.add(run)
        if dice.random() < 0.15:
            history.lake.compact(history.dataset)
            history.remember()
        if history.left and (number in (0, len(runs)) or dice.random() < 0.25):
            history.retract(dice.choice(history.left).name)
            history.check()


def wander(folder: Path, seed: int, count: int = BRANCHES) -> int:
    """Run random histories that share their first runs, and return their number."""
    dice = random.Random(seed)
    runs = list(script(dice))
    dataset = EVERY_KIND[dice.choice(sorted(EVERY_KIND))]
    first = History(Lake(folder / "0"), dataset, undisturbed=Undisturbed(folder / "undisturbed", dataset))
    first.lake.start()
    states = []
    for number, run in enumerate(runs, 1):
        first = first.copy(folder / str(number))
        first.add(run)
        if dice.random() < 0.15:
            first.lake.compact(dataset)
            first.remember()
        states.append(first)
    for number in range(count):
        place = dice.randrange(len(runs))
        last = dice.randint(place + 1, len(runs))
        go_on(states[place].copy(folder / f"branch {number}"), runs[place + 1 : last], dice)
        shutil.rmtree(folder / f"branch {number}")
    return count


@pytest.mark.long
@pytest.mark.parametrize("seed", range(15))
def test_random_histories_read_as_if_retracted_runs_never_happened(tmp_path, seed):
    assert wander(tmp_path, seed) == BRANCHES


def share(seed, folder):
    """Run one share of the random histories."""
    return Tally(wander(folder, seed))
