"""The installed datasets are prepared once in the zygote, and match the ones prepared for a single session."""

import re
from datetime import timedelta

import pyarrow as pa
import pytest

from pitlake.datasets import all_datasets
from pitlake.errors import IsolationUnavailable, QueryFailed
from pitlake.lake.storage.manifest import Snapshot
from pitlake.questions.catalogue import unions
from pitlake.session import warm
from pitlake.session.contracts import Catalogue
from pitlake.session.sealed import launcher
from pitlake.session.sealed.zygote import MOST_PREPARED
from pitlake.session.sql import statements
from pitlake.session.sql.reading import reading_macros
from tests.session.toylake import T
from tests.sessions import open_at

NAMES = [name for name, contract in all_datasets().items() if not contract.open_only]
CHOICES = [None, ["news"], ["prices", "xbrl_facts"], []]
CONTENTS = (
    "SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal AND NOT temporary ORDER BY ALL",
    "SELECT function_name, parameters::VARCHAR FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
)


@pytest.fixture
def bound(cut_cache):
    handle = []

    def open_it(**changes):
        as_of = None if changes.get("open_mode") else T
        handle.append(open_at(Snapshot(1), as_of, cut_cache=cut_cache, **changes))
        return handle[-1]

    yield open_it
    for session in handle:
        session.close()


@pytest.mark.parametrize("name", NAMES)
def test_every_view_answers_over_an_empty_lake(bound, name):
    session = bound()
    for view in (name, f"{name}_revisions", f"lake.{name}"):
        assert session.sql(f"SELECT * FROM {view}").rows() == []
    assert session.sql(f"FROM {name}").columns == list(all_datasets()[name].agent_columns)


@pytest.mark.parametrize("datasets", CHOICES, ids=str)
def test_sealed_and_in_process_sessions_have_the_same_views_and_functions(bound, datasets):
    ready, alone = (bound(datasets=datasets, isolation=each) for each in ("process", "in_process"))
    for contents in CONTENTS:
        assert ready.sql(contents).rows() == alone.sql(contents).rows()


def test_reading_macros_finds_every_macro_that_selects_rows(bound):
    contents = "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE NOT internal AND macro_definition"
    by_duckdb = {name for (name,) in bound().sql(f"{contents} ILIKE '%select%'").rows()}
    assert reading_macros() - {"edgar_facts", *unions()} == by_duckdb
    assert len(by_duckdb) > 20


def test_each_of_many_dataset_choices_is_prepared_independently(bound):
    choices = [[name] for name in NAMES[: MOST_PREPARED + 2]]
    warm(choices[0])
    zygote = launcher._running()
    for datasets in (*choices, choices[0], choices[-1], [*choices[0], *choices[1]]):
        ready, alone = (bound(datasets=datasets, isolation=each) for each in ("process", "in_process"))
        for contents in CONTENTS:
            assert ready.sql(contents).rows() == alone.sql(contents).rows()
        ready.close()
    assert launcher._running() is zygote


def test_only_open_mode_includes_the_outcomes(bound):
    assert bound(open_mode=True).sql("FROM event_returns").rows() == []
    with pytest.raises(QueryFailed, match="open mode only"):
        bound().sql("FROM event_returns")


def test_a_catalogue_passed_to_a_session_overrides_the_installed_datasets(bound):
    news = all_datasets()["news"]
    changed = Catalogue({"news": news}, {"news": "CREATE VIEW news AS SELECT 'mine' AS id FROM lake.news"})
    session = bound(catalogue=changed)
    assert session.sql("FROM news").columns == ["id"]
    assert session.datasets == ("news",)


def test_a_lake_version_without_tombstones_still_shows_the_newest_revisions(lake, cut_cache):
    revisions = [
        {"id": "bzNews_1", "title": title, "created": at, "available_at": at, "available_at_source": "neo4j_created",
         "evidence": title, "observed_at": at, "content_hash": title.encode()}
        for title, at in (("first", T - timedelta(days=1)), ("second", T))
    ]  # fmt: skip
    lake.add_file("news", pa.Table.from_pylist(revisions, schema=all_datasets()["news"].arrow_schema))
    with open_at(lake.snapshot, T, datasets=["news"], isolation="in_process", cut_cache=cut_cache) as session:
        assert session.sql("SELECT title FROM news").rows() == [("second",)]


def test_every_installed_dataset_has_a_view():
    assert list(statements.installed()) == list(all_datasets())


def test_a_session_defines_exactly_the_expected_macros(bound):
    outcome, general = (
        {name for text in texts for name in re.findall(r"CREATE MACRO (\w+)\(", text)}
        for texts in (statements._library(statements.installed()), statements.session_macros(()))
    )
    clock = {*statements._CLOCK, "as_of", "age"}
    result_rows = bound().sql("SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal").rows()
    assert {name for (name,) in result_rows} == outcome | general | clock


def test_a_zygote_of_another_installation_is_refused(bound, monkeypatch):
    monkeypatch.setattr(launcher, "_zygote", None)
    monkeypatch.setattr(statements, "fingerprint", lambda: b"x" * 32)
    with pytest.raises(IsolationUnavailable, match="restart the process"):
        bound()
