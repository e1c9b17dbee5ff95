"""In-process sessions, for trusted code, give the same answers as sealed ones. They too cannot write lake files."""

from datetime import timedelta
from hashlib import sha256

import pytest

from pitlake.errors import LimitExceeded, QueryFailed
from pitlake.session import in_process
from tests.session.toylake import T, gap, row

DAY = timedelta(days=1)
QUESTIONS = [
    "SELECT * FROM charts ORDER BY track",
    "SELECT * FROM charts_revisions ORDER BY track, available_at",
    "FROM charts",
    "FROM gaps",
    "FROM lake_info",
    "SELECT artist, sum(score) FROM charts GROUP BY artist",
    "SELECT now(), random()",
    "SELECT track FROM charts WHERE position > 3 AND available_at > TIMESTAMPTZ '2024-01-01 00:00:00+00'",
]


@pytest.fixture
def filled(lake):
    lake.add("charts", [row(f"t{number}", T - 90 * DAY, number) for number in range(20)])
    lake.add("charts", [row(f"t{number}", T - number * DAY, number) for number in range(-5, 9)])
    lake.add("gaps/charts", [gap(T - 90 * DAY), gap(T + DAY)])
    return lake


def digests(lake):
    return {path: sha256(path.read_bytes()).hexdigest() for path in lake.root.rglob("*") if path.is_file()}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("question", QUESTIONS)
def test_both_isolations_answer_alike(filled, ask, question):
    reply = {ask(isolation=each).sql(question).receipt.result_sha256 for each in ("process", "in_process")}
    assert len(reply) == 1


@pytest.mark.sampled(5)
@pytest.mark.parametrize("isolation", ["process", "in_process"])
@pytest.mark.parametrize(
    "attempt",
    [
        "COPY (SELECT 1) TO '{file}' (FORMAT parquet)",
        "COPY (SELECT 1) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)",
        "COPY (SELECT 1) TO '{file}' (FORMAT csv, USE_TMP_FILE false)",
        "WITH q AS (COPY (SELECT 1) TO '{file}' (FORMAT parquet, USE_TMP_FILE false)) SELECT 1",
        "COPY (SELECT 1) TO '{root}/new.parquet' (USE_TMP_FILE false)",
        "COPY (SELECT 1) TO '/proc/self/fd/300' (FORMAT parquet, USE_TMP_FILE false)",
        "COPY (SELECT 1) TO '/proc/self/fd/301' (FORMAT parquet, USE_TMP_FILE false)",
        "EXPORT DATABASE '{root}/export'",
        "ATTACH '{root}/new.duckdb'",
        "ATTACH '{file}' AS x",
        "CALL enable_logging(storage = 'file', storage_path = '{root}/log')",
        "SET enable_external_access = true",
        "SET allowed_paths = ['{file}']",
        "SET temp_directory = '{root}'",
        "SET lock_configuration = false",
        "INSTALL fts",
        "LOAD '{root}/x.duckdb_extension'",
        "SELECT * FROM read_parquet('{file}')",
        "SELECT * FROM read_text('/proc/self/environ')",
        "SELECT * FROM read_blob('{root}/charts/*')",
        "SELECT * FROM glob('{root}/**')",
        "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')",
        "SELECT getenv('HOME')",
        "SELECT * FROM sql",
        "SELECT * FROM answer",
        "SELECT * FROM arrow_scan(1::POINTER, 1::POINTER, 1::POINTER)",
    ],
)
def test_queries_cannot_read_or_write_anything_outside_the_session(filled, ask, isolation, attempt):
    session, before = ask(isolation=isolation), digests(filled)
    file = filled.tables["charts"][0].path
    with pytest.raises(QueryFailed):
        session.sql(attempt.format(file=file, root=filled.root))
    assert digests(filled) == before
    assert session.sql("SELECT count(*) FROM charts").rows() == [(20,)]


@pytest.mark.parametrize("what", ["RunningQuery", "load"])
def test_running_out_of_memory_ends_the_query_but_not_the_session(filled, ask, monkeypatch, what):
    def without_memory(*_, **_settings):
        raise MemoryError

    session = ask(isolation="in_process")
    monkeypatch.setattr(in_process.engine, what, without_memory)
    with pytest.raises(LimitExceeded) as failed:
        session.load("mine", [{"track": "a"}]) if what == "load" else session.sql("SELECT 1")
    assert failed.value.limit == "memory"
    monkeypatch.undo()
    assert session.sql("SELECT count(*) FROM charts").rows() == [(20,)]
