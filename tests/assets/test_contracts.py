"""Contracts, extractors and views agree: the columns are the same everywhere, and every gap's reason is documented."""

import re
from datetime import datetime, timedelta, timezone
from itertools import product

import duckdb
import pyarrow as pa
import pytest

from assets.graph import all_extractors, calendar, companies, dividends, news, prices, reports, texts, transcripts
from assets.graph.xbrl_facts import PARSERS as FACT_PARSERS
from pitlake.contract import Column, Dataset
from pitlake.datasets import all_datasets
from pitlake.questions.sql_files import sql_files
from pitlake.session.sql.statements import STORED, Ready, agent_view, installed, newest_by_window, revisions
from pitlake.tombstones import newest_first

NEVER_REFUSES = {texts.text, texts.word}
GRAPH = [name for name, dataset in all_datasets().items() if dataset.group == "graph"]


def test_every_dataset_of_the_graph_has_an_extractor():
    assert list(all_extractors()) == sorted(GRAPH)


def stored(connection, dataset, rows=()):
    """Store rows, and create the view `<dataset>_revisions` over them."""
    table = pa.Table.from_pylist(list(rows), dataset.arrow_schema)
    connection.register("given", table)
    connection.execute(f"CREATE SCHEMA {STORED}; CREATE TABLE {STORED}.{dataset.name} AS FROM given")
    connection.execute(revisions(Ready(dataset, "")))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", all_datasets())
def test_a_view_has_the_columns_of_its_contract(name):
    dataset = all_datasets()[name]
    with duckdb.connect() as connection:
        stored(connection, dataset)
        connection.execute(agent_view(dataset))
        described = connection.sql(f"FROM {name}").columns
    assert tuple(described) == dataset.agent_columns


@pytest.mark.parametrize("name", all_datasets())
def test_a_view_shows_the_newest_revision_of_each_key(name):
    text = agent_view(all_datasets()[name]).replace('"', "")
    dataset = all_datasets()[name]
    assert f"PARTITION BY {', '.join(dataset.key)}" in text
    assert f"ORDER BY {', '.join(f'{column} DESC' for column in newest_first(dataset)[:-1])}" in text


def test_a_view_shows_only_the_newest_row_of_each_key():
    """Covers every order of the columns that rank revisions. The expected rows are sorted in Python."""
    names = ("key", "place", "tie", "said")
    columns = tuple(Column(name=name, type="string", meaning="A.", required=True) for name in names)
    dataset = Dataset(
        name="told", title="Told", summary="Told.", availability="Then.", columns=columns, key=("key", "place"),
        entity="key", source_tag="provider_metadata", newer_by=("said",), tiebreak=("tie",),
    )  # fmt: skip
    texts = [dict(zip(names, each, strict=True)) for each in product("ab", repeat=4)]
    rows = [
        text | {"available_at": now + timedelta(hours=hours), "observed_at": now, "available_at_source": "x",
                "evidence": mark, "content_hash": bytes([number])}
        for now in [datetime(2024, 1, 2, tzinfo=timezone.utc)]
        for hours, mark in product((2, 0, 1), "xzy")
        for number, text in enumerate(texts)
    ]  # fmt: skip
    order = ("said", "available_at", "tie", "evidence")
    newest = {
        (row["key"], row["place"]): row for row in sorted(rows, key=lambda row: tuple(row[name] for name in order))
    }
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        stored(connection, dataset, rows)
        connection.execute(agent_view(dataset))
        result_rows = connection.sql("FROM told ORDER BY key, place").to_arrow_table().to_pylist()
    expected = [{name: newest[key][name] for name in dataset.agent_columns} for key in sorted(newest)]
    assert [row | {"available_at": row["available_at"].astimezone(timezone.utc)} for row in result_rows] == expected


def test_a_view_has_an_sql_file_only_if_it_differs_from_its_contract():
    decided = {path.stem for path in sql_files("views")}
    assert decided == {name for name, ready in installed().items() if not ready.is_plain}
    for name in decided:
        output, derived = (
            re.findall(r"\w+|[^\w\s;\"]", re.sub(r"--.*", "", text.upper()))
            for text in (agent_view(all_datasets()[name]), newest_by_window(all_datasets()[name]))
        )
        assert output != derived, f"sql/views/{name}.sql says what the contract does: remove it"


@pytest.mark.parametrize("name", GRAPH)
def test_gap_reasons_are_unique_and_include_a_single_pit_excluded(name):
    rules = all_datasets()[name].gap_rules
    assert len({rule.reason for rule in rules}) == len(rules)
    assert [rule.type for rule in rules].count("pit_excluded") == 1


@pytest.mark.parametrize("name", GRAPH)
def test_the_contest_reason_of_a_dataset_is_among_its_gap_reasons(name):
    contest = all_extractors()[name].contest
    assert contest is None or contest.reason in all_extractors()[name].gap_types


PARSERS = {
    module.DATASET.name: module.PARSERS
    for module in (calendar, companies, dividends, news, prices, reports, transcripts)
} | {"xbrl_facts": FACT_PARSERS}


@pytest.mark.parametrize(
    ("name", "column", "parser"),
    [(name, column, parser) for name, columns in PARSERS.items() for column, parser in columns.items()],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_field_that_can_be_unreadable_has_a_gap_reason(name, column, parser):
    located = {("news", "created"), ("news", "updated"), ("reports", "created"), ("calendar", "date")}
    if parser not in NEVER_REFUSES and (name, column) not in located:
        assert f"{column} is unreadable" in all_extractors()[name].gap_types


@pytest.mark.parametrize("name", GRAPH)
def test_only_the_event_returns_queries_read_returns(name):
    cypher = " ".join((*all_extractors()[name].windows, *all_extractors()[name].sweeps))
    assert "daily_return" not in cypher
    assert ("properties(i)" in cypher) is (name == "event_returns")


@pytest.mark.parametrize("name", GRAPH)
def test_queries_use_plain_cypher_without_apoc_or_extra_parameters(name):
    for cypher in (*all_extractors()[name].windows, *all_extractors()[name].sweeps):
        assert not cypher.lstrip().upper().startswith("CYPHER")
        assert "apoc." not in cypher
        assert "$" not in cypher.replace("$lo", "").replace("$hi", "").replace("$dated", "")
