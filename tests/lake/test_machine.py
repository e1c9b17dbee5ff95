"""The lake as a state machine, compared with an in-memory model: publish, revise, re-run, compact, vacuum, read."""

import shutil
import tempfile
from datetime import timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pitlake.errors import VersionVacuumed
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from tests.lake.world import KINDS, Oracle, Toy, answers, by_day, gaps, publish, rows, utc

KEYS = st.sampled_from("abcd")
HOURS = st.integers(0, 24 * 40)


class LakeMachine(RuleBasedStateMachine):
    """A lake and its model. `source` has the current records, `oracle` the expected rows, `shown` those per version."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.lake = Lake(self.folder)
        self.lake.start()
        self.now = utc("2024-01-15T12:00:00-05:00")
        self.source, self.gaps = {}, {}
        self.known_gaps, self.shown, self.lost = set(), {0: []}, set()
        self.dataset = self.oracle = None

    def teardown(self):
        shutil.rmtree(self.folder)

    @initialize(kind=st.sampled_from(sorted(KINDS)))
    def choose(self, kind):
        self.dataset, self.oracle = KINDS[kind], Oracle(kind)

    @rule(hours=HOURS)
    def time_passes(self, hours):
        self.now += timedelta(hours=hours, microseconds=1)

    @rule(key=KEYS, text=st.sampled_from("xyz"), hours=HOURS, history=st.booleans())
    def the_source_tells(self, key, text, hours, history):
        """Add a first record, or change its text under the same date; in a history, sometimes add a statement."""
        at = self.now - timedelta(hours=hours)
        old = self.source.get((key, ""))
        if self.oracle.kind == "history" and history:
            self.source[key, at] = Toy(key, text, at)
        else:
            self.source[key, ""] = Toy(key, text, old.available_at if old else at, self.now - timedelta(hours=hours))
        self.gaps.pop(key, None)

    @rule(key=KEYS)
    def the_source_breaks(self, key):
        self.gaps[key] = StagedGap("no_data", "no text", f"Toy:{key}", self.now)

    def run(self, toys):
        missing = {gap.available_at.date(): [] for gap in self.gaps.values()}
        for gap in self.gaps.values():
            missing[gap.available_at.date()].append(gap)
        result = publish(self.lake, toys, self.now, missing, dataset=self.dataset)
        total = result.total
        days = {key: gap.available_at.date() for key, gap in self.gaps.items()}
        assert (total.published, total.unchanged) == self.oracle.publish(toys, self.now, days)
        assert total.extracted == len(toys) + len(self.gaps) == total.published + total.unchanged + total.gaps
        new = {gap.locator for gap in self.gaps.values()} - self.known_gaps
        self.known_gaps |= new
        assert (result.new_gaps, result.changed) == (len(new), bool(new or total.published))
        assert result.version == len(self.shown) - 1 + result.changed
        self.shown[result.version] = self.oracle.rows

    def toys(self):
        by_instant = {(toy.key, toy.available_at): toy for toy in self.source.values()}
        return sorted(by_instant.values(), key=lambda toy: (toy.key, toy.available_at))

    @rule()
    def everything_is_published(self):
        self.run(self.toys())

    @rule(data=st.data())
    def days_are_published_one_by_one_in_any_order(self, data):
        for _, toys in data.draw(st.permutations(sorted(by_day(self.toys()).items()))):
            self.run(toys)

    @rule(month=st.sampled_from([None, "2024-02", "2024-06", "2026-01"]))
    def it_is_compacted(self, month):
        result = self.lake.compact(self.dataset, month)
        assert result.version == len(self.shown) - 1 + result.changed
        self.shown[result.version] = self.oracle.rows

    @rule(data=st.data())
    def it_is_vacuumed(self, data):
        remaining = data.draw(st.sets(st.sampled_from(sorted(set(self.shown) - self.lost))))
        report = self.lake.vacuum(timedelta(0), keep_versions=remaining, grace=timedelta(0), dry_run=False)
        assert not remaining & set(report.versions)
        assert len(self.shown) - 1 not in report.versions
        self.lost |= set(report.versions)

    @rule(data=st.data())
    def a_version_reads_as_it_always_did_or_says_it_is_gone(self, data):
        version = data.draw(st.sampled_from(sorted(self.shown)))
        try:
            result_rows = rows(self.lake, version, self.dataset)
        except VersionVacuumed:
            assert version in self.lost
        else:
            assert result_rows == self.shown[version]

    @rule(hours=st.integers(-24 * 60, 24))
    def it_answers_as_of_any_instant(self, hours):
        as_of = self.now + timedelta(hours=hours)
        assert answers(rows(self.lake, dataset=self.dataset), as_of) == answers(self.oracle.rows, as_of)

    @precondition(lambda self: self.oracle)
    @invariant()
    def the_newest_version_holds_what_the_model_holds(self):
        assert self.lake.head() == len(self.shown) - 1
        assert rows(Lake(self.folder), dataset=self.dataset) == self.oracle.rows
        assert {gap["locator"] for gap in gaps(self.lake)} == self.known_gaps


LakeMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestLake = LakeMachine.TestCase
