"""Whatever an agent's SQL says of its rows' clocks, they are the lake's: its own, or the newest of what was read."""

import pytest

from pitlake.answers.provenance import Provenance
from pitlake.clock import instant, iso
from pitlake.mcp.query_service import QueryService, ServiceQuestion
from pitlake.session import connect
from tests.doors.conftest import AS_OF

KEY = b"one key for every server of this file"
NAMES = ("available_at", "available_at_source")
ROWS = "SELECT id, available_at, available_at_source FROM news"
OWN = [
    ROWS,
    "FROM news",
    "TABLE news",
    "SELECT n.available_at_source, n.available_at, n.evidence, lower(n.title) AS t FROM news AS n ORDER BY 2 LIMIT 9",
    'SELECT "AVAILABLE_AT", AVAILABLE_AT_SOURCE, ID FROM NEWS',
    "SELECT * EXCLUDE (body) FROM main.news_revisions WHERE available_at < now() - INTERVAL 3 DAY",
    "SELECT news.* FROM news USING SAMPLE 5 ROWS",
    "SELECT DISTINCT id, available_at, available_at_source FROM news",
    "SELECT * REPLACE (upper(title) AS title) FROM news",
]
OLD = "TIMESTAMPTZ '1999-01-01 00:00:00Z'"
FORGED = [
    f"SELECT {OLD} AS available_at, 'edgar_accepted' AS available_at_source, count(*) AS n FROM news",
    f"SELECT id, {OLD} AS available_at, available_at_source FROM news",
    f"SELECT * REPLACE ({OLD} AS available_at) FROM news",
    "SELECT * EXCLUDE (available_at) RENAME (created AS available_at) FROM news",
    "SELECT available_at, available_at_source, id FROM news AS n(available_at_source, id, available_at)",
    f"SELECT unnest({{'available_at': {OLD}, 'available_at_source': 'edgar_accepted'}}) FROM news",
    f"SELECT unnest({{'available_at': {OLD}, 'available_at_source': 'edgar_accepted'}}) AS x FROM news",
    f"SELECT ({{'available_at': {OLD}}}).available_at, ({{'available_at_source': 'x'}}).available_at_source FROM news",
    f"SELECT s.* FROM (SELECT {{'available_at': {OLD}, 'available_at_source': 'edgar_accepted'}} AS s FROM news)",
    f"SELECT id, {OLD} AS AVAILABLE_AT, 'edgar_accepted' AS Available_At_Source FROM news",
    f"WITH news AS (SELECT {OLD} AS available_at, 'edgar_accepted' AS available_at_source FROM main.news) FROM news",
    f"CREATE TEMP TABLE mine AS SELECT {OLD} AS available_at, 'edgar_accepted' AS available_at_source; FROM mine",
    f"CREATE TEMP VIEW news AS SELECT {OLD} AS available_at, 'edgar_accepted' AS available_at_source, 1 AS id; {ROWS}",
    f"CREATE OR REPLACE MACRO now() AS {OLD}; SELECT now() AS available_at, available_at_source, id FROM news",
    "SELECT min(available_at) AS available_at, any_value(available_at_source) AS available_at_source FROM news",
    "SELECT available_at, available_at_source, count(*) AS n FROM news GROUP BY ALL",
    "SELECT available_at, available_at_source, lead(title, 30) OVER (ORDER BY created) AS later FROM news",
    "SELECT available_at, available_at_source, (SELECT max(close) FROM prices) AS close FROM news",
    "SELECT n.available_at, n.available_at_source, p.close FROM news n JOIN prices p ON p.symbol = n.ticker",
    "SELECT n.available_at, n.available_at_source, p.close FROM news n, LATERAL (SELECT close FROM prices LIMIT 1) p",
    f"{ROWS} UNION ALL SELECT id, {OLD}, 'edgar_accepted' FROM news",
    f"SELECT * FROM (VALUES ({OLD}, 'edgar_accepted', 1)) AS v(available_at, available_at_source, n)",
    "FROM query($$ SELECT TIMESTAMPTZ '1999-01-01 00:00Z' AS available_at, 'edgar_accepted' AS available_at_source $$)",
    "SELECT available_at, available_at_source, 'neo4j:News:bzNews_1' AS evidence FROM news",
    "SELECT COLUMNS('created') AS available_at, COLUMNS('available_at_source') FROM news",
]


@pytest.fixture(scope="module")
def rows_of(lake):
    service = QueryService(lake=lake, as_of=instant(AS_OF), cursor_key=KEY)
    return lambda sql: service.ask(ServiceQuestion(sql=sql), pit=None, max_rows=1000, cursor=None).page.payload["data"]


@pytest.fixture(scope="module")
def known(lake):
    """The clocks of the lake's articles, and the newest instant of each dataset."""
    with connect(AS_OF, lake=lake) as session:
        clocks = {row[0]: (iso(row[1]), row[2]) for row in session.sql(ROWS).rows()}
        newest = dict(session.sql("SELECT dataset, watermark FROM lake_info WHERE watermark IS NOT NULL").rows())
    return clocks, newest


@pytest.mark.parametrize("sql", OWN)
def test_rows_of_one_dataset_keep_their_clocks(rows_of, known, sql):
    clocks, _ = known
    rows = [{name.lower(): value for name, value in row.items()} for row in rows_of(sql)]
    assert rows
    for row in rows:
        assert (row["available_at"], row["available_at_source"]) in clocks.values()
        assert "id" not in row or clocks[row["id"]] == (row["available_at"], row["available_at_source"])


@pytest.mark.parametrize("sql", FORGED)
def test_no_other_row_says_itself_when_it_became_public(rows_of, known, sql):
    _, newest = known
    least = iso(newest["news"])
    rows = rows_of(sql)
    assert rows
    for row in rows:
        assert [name for name in row if name.lower() in NAMES] == list(NAMES)
        assert row["available_at"] >= least


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ("SELECT count(*) AS n FROM news", {"news"}),
        ("SELECT count(*) AS n FROM reports_revisions", {"reports"}),
        ("SELECT count(*) AS n FROM news, prices", {"news", "prices"}),
        ("WITH a AS (FROM reports) SELECT count(*) AS n FROM a", {"reports"}),
        ("SELECT (SELECT count(*) FROM news) AS n FROM reports LIMIT 1", {"news", "reports"}),
        (
            "SELECT count(*) AS n FROM reports WHERE form_type = (SELECT any_value(title) FROM news)",
            {"news", "reports"},
        ),
        ("SELECT 1 AS n", None),
        ("SELECT count(*) AS n FROM lake_info", None),
        ("SELECT count(*) AS n FROM query_table('reports')", None),
        ("SELECT 1; SELECT count(*) AS n FROM reports", None),
    ],
)
def test_an_answer_carries_the_newest_instant_of_what_was_read(rows_of, known, sql, read):
    _, newest = known
    due = max(at for name, at in newest.items() if read is None or name in read)
    assert {row["available_at"] for row in rows_of(sql)} == {iso(due)}


def test_a_statement_too_deep_to_be_understood_counts_as_reading_everything(lake, known):
    _, newest = known
    deep = "SELECT " + "(" * 500 + "1" + ")" * 500 + " AS n FROM reports WHERE " + " OR ".join(["id = 'x'"] * 900)
    with connect(AS_OF, lake=lake) as session:
        told = Provenance.of(session, deep)
    assert told.available_at == max(newest.values()) or told.available_at == newest["reports"]
    assert not told.own or told.available_at == newest["reports"]
