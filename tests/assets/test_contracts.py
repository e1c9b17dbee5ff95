"""Contracts, extractors and views agree: columns are the same everywhere, and every gap's reason is written down."""

import duckdb
import pytest

from assets.graph import all_extractors, texts
from assets.graph.xbrl_facts import PARSERS as FACT_PARSERS
from pitlake.datasets import all_datasets
from pitlake.session.sql.statements import STORED, Ready, revisions
from pitlake.sql_files import sql_file
from pitlake.tombstones import newest_first

NEVER_REFUSES = {texts.text, texts.word}
GRAPH = [name for name, dataset in all_datasets().items() if dataset.group == "graph"]


def test_every_dataset_of_the_graph_has_an_extractor():
    assert list(all_extractors()) == sorted(GRAPH)


@pytest.mark.parametrize("name", all_datasets())
def test_a_view_has_the_contract_s_columns(name):
    dataset = all_datasets()[name]
    stored = dataset.arrow_schema.empty_table()
    with duckdb.connect() as connection:
        connection.register("stored", stored)
        connection.execute(f"CREATE SCHEMA {STORED}; CREATE TABLE {STORED}.{name} AS FROM stored")
        connection.execute(revisions(Ready(dataset, "")))
        connection.execute(sql_file("views", name).read_text())
        described = connection.sql(f"FROM {name}").columns
    assert tuple(described) == dataset.agent_columns


@pytest.mark.parametrize("name", all_datasets())
def test_a_view_shows_the_newest_revision_of_each_key(name):
    text = sql_file("views", name).read_text()
    dataset = all_datasets()[name]
    assert f"PARTITION BY {', '.join(dataset.key)}" in text
    assert f"ORDER BY {', '.join(f'{column} DESC' for column in newest_first(dataset)[:-1])}" in text


@pytest.mark.parametrize("name", GRAPH)
def test_gap_reasons_are_told_apart(name):
    rules = all_datasets()[name].gap_rules
    assert len({rule.reason for rule in rules}) == len(rules)
    assert [rule.type for rule in rules].count("pit_excluded") == 1


@pytest.mark.parametrize("name", GRAPH)
def test_a_contest_s_loser_has_its_reason(name):
    contest = all_extractors()[name].contest
    assert contest is None or contest.reason in all_extractors()[name].gap_types


def parsers():
    from assets.graph import calendar, companies, dividends, news, prices, reports, transcripts

    modules = (calendar, companies, dividends, news, prices, reports, transcripts)
    found = {module.DATASET.name: module.PARSERS for module in modules} | {"xbrl_facts": FACT_PARSERS}
    return [(name, column, parser) for name, columns in found.items() for column, parser in columns.items()]


@pytest.mark.parametrize(
    ("name", "column", "parser"), parsers(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_field_that_can_be_unreadable_has_its_reason(name, column, parser):
    located = {("news", "created"), ("news", "updated"), ("reports", "created"), ("calendar", "date")}
    if parser not in NEVER_REFUSES and (name, column) not in located:
        assert f"{column} is unreadable" in all_extractors()[name].gap_types


@pytest.mark.parametrize("name", GRAPH)
def test_queries_return_no_forbidden_return(name):
    cypher = " ".join((*all_extractors()[name].windows, *all_extractors()[name].sweeps))
    assert "daily_return" not in cypher
    assert ("properties(i)" in cypher) is (name == "event_returns")


@pytest.mark.parametrize("name", GRAPH)
def test_queries_speak_plain_cypher(name):
    for cypher in (*all_extractors()[name].windows, *all_extractors()[name].sweeps):
        assert not cypher.lstrip().upper().startswith("CYPHER")
        assert "apoc." not in cypher
        assert "$" not in cypher.replace("$lo", "").replace("$hi", "").replace("$dated", "")
