"""A sample of the `make poisoned` campaign, and records of unexpected shapes."""

from dataclasses import replace

import pytest

from assets.extraction import Gap, RunFacts
from assets.graph import all_extractors
from assets.runs import attempt_partitions
from pitlake.contract import UNREADABLE_RECORD
from pitlake.errors import CheckFailed
from tests.assets.poisoned import DAYS, KINDS, poisoned_graph, systemic_fault
from tests.toys import OBSERVED, TOY, between, stored

DAY = between("2024-03-10", "2024-03-10")


def test_bad_records_are_gaps_and_every_good_one_is_published(tmp_path):
    met = {poisoned_graph(seed, tmp_path)[0] for seed in range(12)}
    assert len(met) >= len(KINDS) - 2


def test_a_systemic_fault_publishes_nothing(tmp_path):
    for seed in range(4):
        systemic_fault(seed, tmp_path)


@pytest.mark.parametrize("message", [b"bytes", 7, ["a list"], {"a": "map"}, "half a letter \ud800"], ids=repr)
def test_a_value_its_column_cannot_hold_makes_only_its_own_record_a_gap(toy, lake, message):
    toy.write("good", "2024-03-10T12:00:00-04:00")
    toy.write("bad", "2024-03-10T12:00:00-04:00", message)
    count = attempt_partitions(TOY, DAY, toy, lake, run_id="r").outcome.total
    assert [row["evidence"] for row in stored(lake)] == ["toy:good"]
    assert [gap["locator"] for gap in stored(lake, "gaps/notes")] == ["toy:bad"]
    assert (count.extracted, count.published, count.gaps) == (2, 1, 1)


def test_an_extractor_that_can_read_no_record_publishes_nothing(toy, lake):
    for number in range(10):
        toy.write(f"n{number}", "2024-03-10T12:00:00-04:00")
    broken = replace(TOY, values=lambda record: record["a column that was renamed"])
    outcome = attempt_partitions(broken, DAY, toy, lake, run_id="r").outcome
    assert isinstance(outcome, CheckFailed)
    assert (outcome.check, lake.head()) == ("refused_share", 0)


def test_a_record_that_cannot_be_located_is_a_gap_named_by_its_content(toy, lake):
    toy.write("good", "2024-03-10T12:00:00-04:00")
    toy.write("bad", "2024-03-10T12:00:00-04:00")

    def locate(record, run):
        return TOY.locate(record if record["id"] == "good" else {}, run)

    attempt_partitions(replace(TOY, locate=locate), DAY, toy, lake, run_id="r")
    (gap,) = stored(lake, "gaps/notes")
    assert (gap["reason"], gap["locator"][:13], gap["partition"]) == (UNREADABLE_RECORD, "notes:record:", "undated")
    assert len(stored(lake)) == 1


@pytest.mark.parametrize(
    ("name", "identifier"),
    [("reports", "accession_no"), ("xbrl_facts", "node"), ("dividends", "node"), ("splits", "node")],
)
def test_a_node_without_an_id_becomes_a_gap_and_not_an_unproven_row(name, identifier):
    kind = next(kind for kind in KINDS if kind.name == name)
    extractor = all_extractors()[name]
    for missing in (None, " ", "nan"):
        outcome = extractor.normalise(kind.make(1, DAYS[0]) | {identifier: missing}, RunFacts(observed_at=OBSERVED))
        assert isinstance(outcome, Gap), missing
        assert outcome.reason == UNREADABLE_RECORD
