"""The dataset contract refuses contradictions, and everything derived from it is in the documented order."""

import re
from dataclasses import replace

import pytest

from pitlake.contract import SYSTEM_FIELDS, Column, Dataset, GapRule
from pitlake.datasets import all_datasets
from pitlake.questions import dictionary

PLAYS = Dataset(
    name="plays",
    title="Plays",
    summary="Songs played.",
    availability="When the radio logged the play.",
    columns=(
        Column(name="song", type="string", meaning="The song.", required=True),
        Column(name="station", type="string", meaning="Who played it."),
        Column(name="credits", type="json", meaning="Who made it."),
        Column(name="updated", type="instant", meaning="When the log was mended."),
    ),
    key=("song", "station"),
    entity="station",
    source_tag="provider_metadata",
    gap_rules=(GapRule(type="unverifiable", reason="no timestamp", when="the log has no time"),),
)


def with_column(**changes):
    return {"columns": (*PLAYS.columns, replace(PLAYS.columns[1], **{"name": "extra"} | changes))}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (with_column(name="song"), "named twice"),
        (with_column(name="Song"), "not a lower-case SQL name"),
        (with_column(name="a b"), "not a lower-case SQL name"),
        ({"name": "Plays"}, "not a lower-case SQL name"),
        (with_column(name="daily_stock"), "forbidden name"),
        (with_column(name="evidence"), "name that the lake itself uses"),
        (with_column(type="decimal"), "unknown type"),
        (with_column(name="rule", proof=True) | {"key": ("song", "rule")}, "identifies the row can't be proof"),
        (with_column(name="rule", proof=True) | {"entity": "rule"}, "identifies the row can't be proof"),
        (with_column(meaning=""), "no meaning"),
        ({"key": ()}, "no natural key"),
        ({"key": ("singer",)}, "unknown column"),
        ({"entity": "singer"}, "unknown column"),
        ({"tiebreak": ("available_at",)}, "unknown column"),
        ({"revised_at": "song"}, "revised_at is not an instant"),
        ({"source_tag": "observed"}, "source tag"),
        ({"knowable": {"song": "rumour"}}, "value of knowable is unknown"),
        ({"knowable": {"singer": "hindsight"}}, "unknown column"),
        ({"gap_rules": (GapRule(type="lost", reason="r", when="w"),)}, "gap rule"),
    ],
)
def test_a_contract_that_contradicts_itself_is_refused(changes, problem):
    with pytest.raises(ValueError, match=f"^contract of dataset .*{problem}"):
        replace(PLAYS, **changes)


@pytest.mark.parametrize(("group", "partitioned"), [("graph", True), ("external", False), ("drops", False)])
def test_only_graph_datasets_are_partitioned_by_default(group, partitioned):
    assert replace(PLAYS, group=group, partitioned=None).partitioned is partitioned
    assert replace(PLAYS, group=group, partitioned=not partitioned).partitioned is not partitioned


@pytest.mark.parametrize("column", ["", "available_at", "updated"])
def test_revised_at_may_be_empty_or_name_an_instant_column(column):
    assert replace(PLAYS, revised_at=column).revised_at == column


def test_derived_columns_and_schema_are_in_the_documented_order():
    assert PLAYS.identity == PLAYS.key
    assert PLAYS.arrow_schema.names == [
        "song",
        "station",
        "credits",
        "updated",
        *(field.name for field in SYSTEM_FIELDS),
    ]
    assert PLAYS.agent_columns == (
        "available_at",
        "available_at_source",
        "song",
        "station",
        "credits",
        "updated",
        "evidence",
    )
    assert PLAYS.json_columns == ("credits",)
    assert PLAYS.revision_order == ("available_at", "content_hash")
    assert [field.nullable for field in PLAYS.arrow_schema][:2] == [False, True]


def test_a_proof_column_is_shown_to_agents_but_is_not_content():
    proven = replace(PLAYS, **with_column(name="rule", proof=True))
    assert "rule" in proven.agent_columns
    assert proven.content_columns == PLAYS.content_columns


PROVES = re.compile(".*_(rule|raw|method|quote)|file_modified|claims")


def test_every_column_that_says_how_an_instant_was_proven_is_marked_as_proof():
    for dataset in all_datasets().values():
        for column in dataset.columns:
            assert column.proof or not PROVES.fullmatch(column.name), (dataset.name, column.name)


def test_agents_never_see_the_lakes_clock_or_hash():
    for dataset in all_datasets().values():
        assert not {"observed_at", "content_hash"} & set(dataset.agent_columns)


def test_evidence_is_hindsight_when_a_key_column_is():
    names = replace(PLAYS, knowable={"song": "hindsight", "credits": "lake"})
    assert names.hindsight == {"song", "evidence"}
    assert replace(PLAYS, knowable={"credits": "hindsight"}).hindsight == {"credits"}
    assert PLAYS.hindsight == frozenset()


DATED_BY_A_LOOK = {"companies", "av_estimates", "av_earnings_calendar", "call_events", "call_calendar"}
STATED_BY_THE_FILING = {"universe_events"}
NAMES = re.compile("tickers?|symbols?|company_name|entities|exchange|transcript_id")


def test_every_name_column_is_of_its_time_or_marked_as_hindsight():
    for dataset in all_datasets().values():
        names = {column.name for column in dataset.columns if NAMES.fullmatch(column.name)}
        assert names <= dataset.hindsight or dataset.name in DATED_BY_A_LOOK | STATED_BY_THE_FILING, dataset.name


def test_the_dictionary_explains_evidence_and_source_tag_of_each_dataset():
    for dataset in all_datasets().values():
        columns = {column.name: column.meaning for column in dictionary.agent_columns(dataset)}
        assert ("graph label and id" in columns["evidence"]) == (dataset.group == "graph")
        tags = (dataset.source_tag, *dataset.other_tags)
        assert [tag for tag in tags if f"`{tag}`" not in columns["available_at_source"]] == []
