"""Retraction: the new version is that of a lake whose run never happened, and older versions keep their bytes."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count, product

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pitlake.contract import gap_table_name
from pitlake.errors import BadInput, VersionVacuumed
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.upkeep.retract import Retracted
from pitlake.session import connect
from pitlake.tombstones import superseded_table_name
from tests.lake.world import KINDS, TOY, Toy, data_files, publish, rows, utc

NOON = utc("2024-03-05T12:00:00-05:00")
CAPTURED = replace(TOY, group="external")
EVERY_KIND = {**KINDS, "captured": CAPTURED, "captured history": replace(CAPTURED, revised_at="available_at")}
A, B = Toy("a", "x", NOON), Toy("b", "x", NOON)


def replace_text(toy: Toy, text: str) -> Toy:
    return toy._replace(text=text)


def day(number: int) -> datetime:
    return NOON + timedelta(days=number)


@dataclass(frozen=True)
class Run:
    """One run of a history: what it read, and when."""

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
    """Return everything that a version of a lake shows of the toys."""

    rows: list
    gaps: list
    tombstones: list

    @classmethod
    def of(cls, lake: Lake, known_by: datetime | None = None, version: int | None = None) -> "Shown":
        snapshot = lake.snapshot(version, known_by)

        def table(name: str) -> list:
            content = []
            for file in snapshot.files(name):
                lines = pq.read_table(file.path, partitioning=None).to_pylist()
                beside = pq.read_table(file.beside.path, partitioning=None).to_pylist() if file.beside else lines
                content += [line | seen for line, seen in zip(lines, beside, strict=True)]
            for line in content:  # Gaps of late replays are dated by the wall clock.
                line["available_at"] = min(line["available_at"], day(365))
            return sorted(content, key=lambda line: str(sorted(line.items())))

        return cls(table("toys"), table(gap_table_name("toys")), table(superseded_table_name("toys")))


@dataclass
class History:
    """A lake, its runs and the instants after them, and what each of its versions showed."""

    lake: Lake
    dataset: object = TOY
    runs: list[Run] = field(default_factory=list)
    instants: list[datetime] = field(default_factory=list)
    shown: dict[int, tuple[Shown, dict]] = field(default_factory=dict)
    retracted: list[str] = field(default_factory=list)

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
        files = {path: path.read_bytes() for path in data_files(self.lake)}
        self.shown.setdefault(self.lake.head(), (Shown.of(self.lake), files))

    def check(self, other: Lake) -> None:
        """Compare the lake with another one in which the retracted runs never happened."""
        other.start()
        states = [Shown.of(other)]
        instants = [run.publish(other, self.dataset) for run in self.runs if run.name not in self.retracted]
        states += [Shown.of(other, at) for at in instants]
        assert Shown.of(self.lake) == states[-1]
        place = 0
        for run, at in zip(self.runs, self.instants, strict=True):
            place += run.name not in self.retracted
            assert Shown.of(self.lake, at) == states[place], (run, place)
        for version, (display, files) in self.shown.items():
            assert Shown.of(self.lake, version=version) == display
            assert [path for path, content in files.items() if path.read_bytes() != content] == []


@pytest.fixture
def others(tmp_path) -> Iterator[Lake]:
    return (Lake(tmp_path / f"other {number}") for number in count())


@pytest.fixture
def history(lake):
    return History(lake)


def test_rows_and_gaps_of_a_retracted_run_are_gone_as_of_every_instant(history, others):
    history.add(Run("good", (A,), day(1)))
    history.add(Run("bad", (replace_text(A, "wrong"), B), day(2), gaps=("c",)))
    history.retract("bad")
    assert [row.text for row in rows(history.lake)] == ["x"]
    history.check(next(others))
    entry = history.lake.entry()
    assert (entry.operation, entry.run_id, entry.reason) == ("retract", "bad", "it was wrong")
    assert (entry.counts["rows"], entry.counts["gaps"]) == (2, 1)


def test_a_retracted_row_confirmed_by_a_later_run_is_dated_by_that_run(history, others):
    history.add(Run("first", (A,), day(1)))
    history.add(Run("bad", (replace_text(A, "y"), B), day(2)))
    history.add(Run("later", (replace_text(A, "y"),), day(3)))
    history.retract("bad")
    assert [(row.text, row.available_at) for row in rows(history.lake)] == [("x", NOON), ("y", day(3))]
    history.check(next(others))


def test_the_correction_of_a_retracted_row_returns_to_its_original_date(history, others):
    history.add(Run("bad", (replace_text(A, "wrong"),), day(1)))
    history.add(Run("later", (A,), day(2)))
    assert [row.available_at for row in rows(history.lake)] == [NOON, day(2)]
    history.retract("bad")
    assert [(row.text, row.available_at) for row in rows(history.lake)] == [("x", NOON)]
    history.check(next(others))


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
    """A row that was in an earlier mount too stays."""
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
    with history.lake.stage(TOY, "bad"), pytest.raises(BadInput, match="is not over"):
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


def test_polls_of_a_retracted_run_are_ignored(history, others):
    history.dataset = CAPTURED
    history.add(Run("bad", (), day(1), complete=True))
    history.retract("bad")
    assert history.lake.polls("toys") == []
    assert [poll.run_id for poll in history.lake.polls("toys", version=0)] == ["bad"]
    history.add(Run("later", (A,), day(2)))
    assert [row.available_at for row in rows(history.lake)] == [NOON]
    history.check(next(others))


def test_compaction_before_or_after_a_retraction_does_not_change_the_result(history, others):
    for number, text in enumerate("xyz"):
        history.add(Run(f"run{number}", (replace_text(A, text), Toy("m", text, day(-50 * number))), day(1 + number)))
        history.lake.compact(TOY, "2026-01")
        history.remember()
    history.retract("run1")
    history.check(next(others))
    before = rows(history.lake)
    history.lake.compact(TOY, "2026-01")
    assert rows(history.lake) == before


def test_vacuum_keeps_files_that_known_by_needs_until_their_version_expires(history, others):
    history.add(Run("good", (A,), day(1)))
    history.add(Run("bad", (B,), day(2)))
    history.add(Run("later", (replace_text(A, "y"),), day(3)))
    history.retract("bad")
    history.lake.vacuum(grace=timedelta(0), dry_run=False)
    history.check(next(others))
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
def test_every_history_of_three_runs_reads_as_if_the_retracted_run_never_happened(tmp_path, others, kind, bad):
    for number, reads in enumerate(product(RECORDS, repeat=3)):
        history = History(Lake(tmp_path / str(number)), EVERY_KIND[kind])
        for place, toys in enumerate(reads):
            history.add(Run(f"run{place}", toys, day(place + 1), complete=True))
        if history.lake.polls("toys"):
            history.retract(f"run{bad}")
            history.check(next(others))


def wander(history: History, dice: random.Random, others: Iterator[Lake]) -> None:
    """Play a random history: runs, edits, late replays, compactions and retractions."""
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
        history.add(Run(f"run{number}", public, now - late, gaps, complete=dice.random() < 0.3))
        if dice.random() < 0.15:
            history.lake.compact(history.dataset)
            history.remember()
        left = [run.name for run in history.runs if run.name not in history.retracted]
        if left and dice.random() < 0.25:
            history.retract(dice.choice(left))
            history.check(next(others))
    left = [run.name for run in history.runs if run.name not in history.retracted]
    if left:
        history.retract(dice.choice(left))
    history.check(next(others))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(200))
def test_random_histories_read_as_if_retracted_runs_never_happened(lake, others, seed):
    dice = random.Random(seed)
    wander(History(lake, EVERY_KIND[dice.choice(sorted(EVERY_KIND))]), dice, others)
