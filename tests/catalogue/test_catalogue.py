"""The catalogue's files: each query returns what its header declares."""

import pytest

from pitlake.datasets import get
from pitlake.errors import BadInput
from pitlake.questions import catalogue
from pitlake.questions.sql_files import columns_file, sql_file, sql_files
from tests.catalogue.conftest import plain

HEADER = "-- summary: s\n-- agent: a\n-- reads: news\n-- ids: id\n-- column id | m\n-- column evidence | m\n"
NUMBERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE"}

VALUES = {
    "ticker": "qbg", "start_date": "2024-01-01", "query": "revenue guidance", "channel": "Earnings",
    "concept_qname": "us-gaap:Revenues", "member_qnames": "a:OneMember,a:OtherMember",
    "pairs": [("QBG", "2024-05-01T00:00:00Z")], "concepts": ["us-gaap:Revenues"], "embedding": [0.1, 0.2],
    "series": "GDP", "period": "2014-01-01", "day": "2014-05-29", "kind": "curve", "instrument": "USD",
}  # fmt: skip


def some_values(query):
    return {parameter.name: VALUES[parameter.name] for parameter in query.parameters if parameter.name in VALUES}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", catalogue.all_queries())
def test_a_query_runs_with_only_the_datasets_it_declares(world, name):
    query = catalogue.get(name)
    world(datasets=query.reads).connection.execute(query.sql, plain(query.bind(some_values(query))))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", catalogue.all_queries())
def test_a_query_has_the_columns_it_declares_with_evidence_ids_and_units(empty, name):
    query = catalogue.get(name)
    answer = empty.connection.execute(query.sql, plain(query.bind(some_values(query))))
    assert [column[0] for column in answer.description] == [field.name for field in query.columns]
    units = {field.name: field.unit for field in query.columns}
    assert units.keys() & set(catalogue.EVIDENCE)
    assert query.ids
    assert units.keys() >= set(query.ids)
    assert {column for column, kind, *_ in answer.description if str(kind) in NUMBERS and not units[column]} == set()


FACT = "accessionNo formType concept_qname concept_label value period_start period_end period_type"


def test_queries_have_the_columns_promised_to_agents_in_order():
    promised = {
        "news_date_range": "id title teaser channels created",
        "news_by_channel": "id title channels created",
        "news_full_text": "id title teaser created ft_score",
        "news_latest": "id title teaser channels created",
        "report_range": "accessionNo formType items created",
        "report_earnings": "accessionNo formType items created",
        "report_search_sections": "accessionNo formType section_name content_preview ft_score",
        "report_search_exhibits": "accessionNo formType exhibit_number content_preview ft_score",
        "report_latest": "accessionNo formType items created",
        "transcript_range": "company_name conference_datetime fiscal_quarter fiscal_year",
        "transcript_latest": "company_name conference_datetime fiscal_quarter fiscal_year",
        "transcript_qa_latest": "sequence questioner responders exchanges conference_datetime",
        "transcript_search_qa": "sequence questioner responders exchanges conference_datetime ft_score",
        "xbrl_all_metrics": FACT,
        "xbrl_metric": FACT,
        "xbrl_concept_search": f"{FACT} ft_score",
        "xbrl_segments": "quarter member member_label value dimensionality",
        "entity_price_series": "date open high low close volume",
        "entity_price_range": "date open high low close volume",
        "entity_latest_price": "date open high low close volume",
        "entity_dividends": "date declaration_date cash_amount dividend_type frequency",
        "entity_splits": "date execution_date split_from split_to",
        "vector_news": "id title channels ticker vector_score",
        "vector_qa": "id questioner questioner_title responders exchanges ticker conference_datetime vector_score",
    }
    for name, columns in promised.items():
        expected = ["available_at", "available_at_source", *columns.split()]
        inputs = [field.name for field in catalogue.get(name).columns if field.name in expected]
        assert inputs == expected, name


def test_default_row_limits_are_those_promised():
    limits = {
        (query.name, parameter.name): parameter.default
        for query in catalogue.all_queries().values()
        for parameter in query.parameters
        if parameter.name in ("limit", "k")
    }
    assert limits[("news_latest", "limit")] == 10
    assert limits[("report_latest", "limit")] == 5
    assert {value for (name, _), value in limits.items() if name.startswith("vector")} == {5}
    searches = ("news_full_text", "report_search_sections", "transcript_search_qa", "xbrl_concept_search")
    assert {limits[(name, "limit")] for name in searches} == {20}


def test_an_unknown_query_is_refused_and_the_error_lists_the_names():
    with pytest.raises(BadInput, match="news_latest"):
        catalogue.get("news_newest")


@pytest.mark.parametrize(
    ("name", "values", "complaint"),
    [
        ("news_full_text", {}, "query: news_full_text needs it"),
        ("news_latest", {"ticker": "A", "pit": "2024-01-01T00:00:00Z"}, "pit: news_latest has no such parameter"),
        ("vector_news", {}, "exactly one"),
        ("vector_news", {"embedding": [1.0], "seed_id": "bzNews_1"}, "exactly one"),
    ],
)
def test_missing_unknown_or_conflicting_parameters_are_refused_by_name(name, values, complaint):
    with pytest.raises(BadInput, match=complaint):
        catalogue.get(name).bind(values)


def test_unspecified_parameters_are_bound_to_their_defaults():
    assert catalogue.get("news_full_text").bind({"query": "x"}) == {
        "query": "x", "ticker": None, "limit": 20, "company": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("-- agent: a\n-- reads: news\n-- ids: id\nSELECT 1", "lacks summary"),
        (HEADER.replace("-- ids: id\n", "") + "SELECT 1", "lacks ids"),
        (HEADER.replace("-- ids: id", "-- ids: cik") + "SELECT 1", "'ids' names an unknown column"),
        (HEADER.replace("-- column evidence | m\n", "") + "SELECT 1", "no column is evidence"),
        (HEADER + "-- column close [USD] | m\nSELECT 1", "unit USD is neither"),
        (HEADER.replace("reads: news", "reads: splits") + "SELECT 1", "'hindsight' lacks evidence"),
        (HEADER + "-- searches: splits\nSELECT 1", "'searches' names a dataset that 'reads' lacks"),
        (HEADER + "-- parm x text required | m\nSELECT $x", "unknown header line"),
        (HEADER + "-- param x text maybe | m\nSELECT $x", "does not have the required form"),
        (HEADER + "-- param x number required | m\nSELECT $x", "unknown parameter type"),
        (HEADER + "-- param x text required | m\nSELECT 1", "header declares"),
        (HEADER + "SELECT $x", "header declares"),
        (HEADER.replace("news", "newes") + "SELECT 1", "unknown dataset"),
        (HEADER + "-- one of: x, y\nSELECT 1", "one of"),
    ],
)
def test_a_header_that_disagrees_with_its_sql_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        catalogue.parse("made_up", text)


def test_a_dollar_sign_in_a_string_or_comment_is_not_a_parameter():
    query = catalogue.parse("made_up", HEADER + "SELECT '$x' -- $y\n")
    assert query.parameters == ()


def test_an_indexed_search_takes_the_same_parameters():
    searching = [query for query in catalogue.all_queries().values() if query.searches]
    assert {query.name for query in searching} >= {"news_full_text", "vector_news", "vector_qa", "vector_combined"}
    for query in searching:
        assert catalogue.placeholders(query.by_index) == catalogue.placeholders(query.sql)
        words = {name for name in query.searches if get(name).searched}
        assert words.union(name for name in query.searches if get(name).has_vectors) == set(query.searches)
        assert {name for name in query.reads if f"search_{name}(" in query.sql} == words
        assert ("nearest_" in query.sql) == (words != set(query.searches))
        assert sql_file("indexed", query.name).is_file() == bool(words)


def test_a_column_of_several_queries_is_described_once():
    shared = columns_file().read_text().splitlines()
    headers = [line for path in sql_files("queries") for line in path.read_text().splitlines()]
    assert [line for line in shared if f"-- column {line}" in headers] == []
    assert [line for line in shared if headers.count(f"-- column {line.split(' ')[0]}") < 2] == []


def test_a_column_without_a_description_must_be_a_shared_column():
    assert (
        catalogue.parse("x", f"{HEADER}-- column accessionNo\nSELECT 1").columns[-1].meaning
        == "EDGAR accession number."
    )
    with pytest.raises(ValueError, match=r"'nobody' does not have the required form"):
        catalogue.parse("x", f"{HEADER}-- column nobody\nSELECT 1")
