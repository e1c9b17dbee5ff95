"""A column added to a contract whose dataset has rows: old rows read as null and keep their content and dates."""

from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from checks.standing import newest_rows
from pitlake.answers.export import export
from pitlake.contract import Column, Dataset
from pitlake.errors import LakeError
from pitlake.lake import Lake
from pitlake.lake.publishing.audit import CheckResult
from pitlake.lake.publishing.check_results import CheckReport
from pitlake.lake.publishing.hashing import content_hashes
from pitlake.lake.publishing.stage import staged_schema
from pitlake.report.measures import measure
from pitlake.session.contracts import Catalogue
from tests.lake.world import TOY, Toy, table, utc
from tests.session.toylake import view_of
from tests.sessions import open_at

NOON = utc("2024-03-05T12:00:00-05:00")
DAY = timedelta(days=1)
A, B = Toy("a", "x", NOON), Toy("b", "y", NOON + 40 * DAY)
COLOUR = Column(name="colour", type="string", meaning="Its colour.")
WIDER = replace(TOY, columns=(*TOY.columns[:2], COLOUR, *TOY.columns[2:]))
CATALOGUE = Catalogue({"toys": WIDER}, {"toys": view_of(WIDER)})


def publish(lake, toys, observed_at, dataset=WIDER, colour=None):
    with lake.stage(dataset, "run") as stage:
        for toy in toys:
            rows = table([toy], dataset)
            if colour and dataset is WIDER:
                place = rows.schema.get_field_index("colour")
                rows = rows.set_column(place, "colour", pa.array([colour]))
            stage.add(toy.day, rows, extracted=1)
        return lake.publish(stage, observed_at)


def colours(lake, as_of=None, version=None):
    answers = []
    for isolation in ("process", "in_process"):
        options = {"open_mode": as_of is None, "catalogue": CATALOGUE, "isolation": isolation}
        with open_at(lake.snapshot(version), as_of, **options) as session:
            answers.append(session.sql("SELECT key, colour FROM toys ORDER BY key").arrow().to_pylist())
    assert answers[0] == answers[1]
    return answers[0]


@pytest.fixture
def wider(lake):
    """A lake with one row from before the column was added and one row from after."""
    publish(lake, [A], NOON + DAY, TOY)
    publish(lake, [B], NOON + 41 * DAY, colour="red")
    return lake


def test_old_rows_have_null_in_an_added_column(wider):
    assert colours(wider) == [{"key": "a", "colour": None}, {"key": "b", "colour": "red"}]
    assert colours(wider, NOON + DAY) == [{"key": "a", "colour": None}]
    assert colours(wider, version=1) == [{"key": "a", "colour": None}]


def test_a_column_added_to_the_contract_reads_as_null_before_any_row_has_it(lake):
    publish(lake, [A], NOON + DAY, TOY)
    assert colours(lake) == [{"key": "a", "colour": None}]


def test_an_old_row_with_null_in_an_added_column_counts_as_unchanged(wider):
    again = publish(wider, [A], NOON + 50 * DAY)
    assert not again.changed
    assert again.total.unchanged == 1


def test_a_value_in_an_added_column_is_a_revision_when_observed(wider):
    seen = NOON + 50 * DAY
    assert publish(wider, [A], seen, colour="blue").revisions == 1
    assert colours(wider, seen - DAY)[0] == {"key": "a", "colour": None}
    assert colours(wider, seen)[0] == {"key": "a", "colour": "blue"}
    assert not publish(wider, [A], seen + DAY, colour="blue").changed


def test_compaction_keeps_rows_from_before_and_after_the_column_was_added(wider):
    before = colours(wider)
    assert wider.compact(WIDER, before="2025-01").changed
    assert colours(wider) == before
    assert not publish(wider, [A], NOON + 50 * DAY).changed


def test_old_rows_compacted_with_the_wider_contract_read_as_null_in_the_added_column(lake):
    publish(lake, [A], NOON + DAY, TOY)
    publish(lake, [A._replace(text="z")], NOON + 2 * DAY, TOY)
    assert lake.compact(WIDER, before="2025-01").changed
    assert colours(lake) == [{"key": "a", "colour": None}]
    publish(lake, [B], NOON + 41 * DAY, colour="red")
    assert colours(lake)[1] == {"key": "b", "colour": "red"}


def test_files_compacted_before_the_column_was_added_are_read_as_they_are(lake):
    publish(lake, [A], NOON + DAY, TOY)
    publish(lake, [A._replace(text="z")], NOON + 2 * DAY, TOY)
    lake.compact(TOY, before="2025-01")
    publish(lake, [B], NOON + 41 * DAY, colour="red")
    assert colours(lake) == [{"key": "a", "colour": None}, {"key": "b", "colour": "red"}]
    assert colours(lake, NOON + 3 * DAY) == [{"key": "a", "colour": None}]


def test_expectations_the_report_and_exports_show_null_in_old_rows(wider, tmp_path, monkeypatch):
    assert newest_rows(WIDER, wider.snapshot())["colour"].to_pylist() == ["red", None]
    failing = CheckResult(name="a check", severity="warning", passed=False, examples=("Toy:a", "Toy:b"))
    seen = NOON + 42 * DAY
    wider.keep_check_report(CheckReport(dataset="toys", run_id="run", checked_at=seen, version=2, checks=(failing,)))
    measures = measure(wider, WIDER, wider.snapshot(), wider.snapshot(1), seen)
    assert [example.row.get("colour") for example in measures.examples["a check"]] == [None, "red"]
    monkeypatch.setattr("pitlake.datasets.all_datasets", lambda: {"toys": WIDER})
    with open_at(wider.snapshot(), NOON + 50 * DAY, catalogue=CATALOGUE) as session:
        export(session, tmp_path / "copy")
    copied = DeltaTable(str(tmp_path / "copy" / "toys")).to_pyarrow_table().sort_by("key")
    assert copied["colour"].to_pylist() == [None, "red"]


REFUSED: dict[str, tuple[Dataset, str]] = {
    "a column is gone": (replace(TOY, columns=TOY.columns[:-1]), "revised.*put it back"),
    "a column has another type": (
        replace(TOY, columns=(*TOY.columns[:2], replace(TOY.columns[2], type="int"), TOY.columns[3])),
        "text.*another name",
    ),
    "a column is required now": (
        replace(TOY, columns=(*TOY.columns[:2], replace(TOY.columns[2], required=True), TOY.columns[3])),
        "text.*another name",
    ),
    "an added column is required": (
        replace(TOY, columns=(*TOY.columns, replace(COLOUR, required=True))),
        "colour.*without required=True",
    ),
    "the columns are in another order": (
        replace(TOY, columns=(*TOY.columns[:2], TOY.columns[3], TOY.columns[2])),
        "order.*put them back",
    ),
}


@pytest.mark.parametrize("change", REFUSED)
def test_an_incompatible_contract_change_is_refused_and_the_error_says_what_to_do(lake: Lake, change):
    publish(lake, [A], NOON + DAY, TOY)
    dataset, next_step = REFUSED[change]
    values = {"text": 1} if dataset.arrow_schema.field("text").type == pa.int64() else {"text": "t"}
    values |= {"key": "b", "maker": "m", "colour": "red", "available_at": B.available_at}
    values |= {"available_at_source": "neo4j_created", "evidence": "Toy:b"}
    with lake.stage(dataset, "run") as stage:
        stage.add(B.day, pa.Table.from_pylist([values], staged_schema(dataset)), extracted=1)
        with pytest.raises(LakeError, match=next_step):
            lake.publish(stage, NOON + 41 * DAY)
    assert lake.head() == 1
    assert not publish(lake, [A], NOON + 42 * DAY, TOY).changed


def test_an_old_contract_is_refused_once_rows_have_the_added_column(wider):
    with pytest.raises(LakeError, match=r"colour.*put it back"):
        publish(wider, [Toy("c", "z", NOON)], NOON + 50 * DAY, TOY)


def test_null_in_an_added_column_keeps_the_old_hash_and_distinct_rows_differ():
    rows = pa.table({"a": ["x", "x", "x"], "b": [None, "x", None], "c": [None, None, "x"]})
    old = content_hashes(rows, ["a"]).to_pylist()
    new = content_hashes(rows, ["a", "b", "c"], frozenset({"b", "c"})).to_pylist()
    assert new[0] == old[0]
    assert len(set(new)) == 3
