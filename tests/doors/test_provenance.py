"""For any SQL of an agent, only rows of the lake have provenance. All others are marked as computed."""

import pytest

from pitlake.answers.provenance import Provenance
from pitlake.clock import instant, iso
from pitlake.mcp.query_service import QueryService, ServiceQuestion
from pitlake.session import Viewpoint, connect
from pitlake.session.sql.reading import Reading
from tests.doors.conftest import AS_OF

KEY = b"one key for every server of this file"
MARKS = ("computed", "newest_input_at")
ROWS = "SELECT id, available_at, available_at_source FROM news"
OWN = [
    ROWS,
    "FROM news",
    "TABLE news",
    "SELECT n.available_at_source, n.available_at, n.evidence, N.title FROM news AS n ORDER BY lower(n.title) LIMIT 9",
    'SELECT "AVAILABLE_AT", AVAILABLE_AT_SOURCE, ID FROM NEWS',
    "SELECT title AS title, available_at: available_at, available_at_source FROM news -- title AS body",
    "SELECT * EXCLUDE (body) FROM main.news_revisions WHERE available_at < now() - INTERVAL 3 DAY",
    "SELECT news.* FROM memory.main.news USING SAMPLE 5 ROWS",
    "SELECT DISTINCT ON (ticker) id, available_at, available_at_source FROM news ORDER BY ALL",
    f"{ROWS} WHERE id IN (SELECT id FROM news_revisions) AND created < (SELECT max(created) FROM news)",
    f"{ROWS} QUALIFY row_number() OVER (PARTITION BY ticker ORDER BY created DESC) = 1",
    f"({ROWS});",
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
PROOF = "available_at, available_at_source, evidence"
COMPUTED = [
    f"SELECT {PROOF}, 'ACME goes bankrupt' AS title FROM news",
    f"SELECT {PROOF}, title AS body FROM news",
    f"SELECT {PROOF}, title body, body title FROM news",
    f"SELECT {PROOF}, upper(title) AS title FROM news",
    f"SELECT {PROOF}, CASE WHEN id = id THEN 'x' ELSE title END AS title FROM news",
    f"SELECT {PROOF}, coalesce('x', title) AS title FROM news",
    f"SELECT {PROOF}, title || '' AS title FROM news",
    f"SELECT {PROOF}, title::VARCHAR AS title FROM news",
    f"SELECT {PROOF}, COLUMNS('title') AS body FROM news",
    f"SELECT {PROOF}, COLUMNS(lambda c: c = 'title') FROM news",
    f"SELECT {PROOF}, $forged AS title FROM news",
    f"SELECT {PROOF}, #3 AS title FROM news",
    "SELECT * REPLACE ('x' AS title) FROM news",
    "SELECT * RENAME (title AS body) FROM (SELECT * EXCLUDE (body) FROM news)",
    "SELECT * RENAME (title AS headline) FROM news",
    "SELECT * EXCLUDE (title), 'x' AS title FROM news",
    "SELECT body, title FROM news AS n(id, body, title)",
    "SELECT a.available_at, a.available_at_source, a.evidence, b.title FROM news a JOIN news b ON a.id <> b.id",
    "SELECT a.evidence, b.title FROM news a POSITIONAL JOIN (FROM news ORDER BY id DESC) b",
    f"SELECT {PROOF}, title FROM news CROSS JOIN (SELECT 1)",
    f"SELECT {PROOF}, title FROM (SELECT * REPLACE ('x' AS title) FROM news)",
    f"SELECT {PROOF}, title FROM (FROM news) AS news",
    f"WITH forged AS (SELECT * REPLACE ('x' AS title) FROM news) SELECT {PROOF}, title FROM forged",
    f"WITH news AS (SELECT * REPLACE ('x' AS title) FROM main.news) SELECT {PROOF}, title FROM news",
    f"WITH a AS (SELECT 1) SELECT {PROOF}, title FROM news",
    f"SELECT {PROOF}, title FROM news UNION ALL SELECT {PROOF}, 'x' FROM news",
    f"SELECT {PROOF}, title FROM news INTERSECT SELECT {PROOF}, title FROM news",
    f"SELECT {PROOF}, lead(title) OVER () AS title FROM news",
    f"SELECT {PROOF}, any_value(title) AS title FROM news GROUP BY ALL",
    f"SELECT {PROOF}, title FROM news GROUP BY ALL",
    "SELECT arg_min(COLUMNS(*), created) FROM news",
    f"SELECT {PROOF}, (SELECT 'x') AS title FROM news",
    f"SELECT {PROOF}, unnest(['x', 'y']) AS title FROM news",
    f"SELECT {PROOF}, 'x' AS \"title\" FROM news",
    f"SELECT {PROOF}, title COLLATE NOCASE AS title FROM news",
    f"CREATE MACRO forged(t) AS 'x'; SELECT {PROOF}, forged(title) AS title FROM news",
    f"CREATE TEMP VIEW news AS SELECT * REPLACE ('x' AS title) FROM lake.news; SELECT {PROOF}, title FROM news",
    f"CREATE TEMP TABLE news AS SELECT * REPLACE ('x' AS title) FROM main.news; SELECT {PROOF}, title FROM news",
    f"CREATE OR REPLACE VIEW news AS SELECT * REPLACE ('x' AS title) FROM lake.news; SELECT {PROOF}, title FROM news",
    f"CREATE SCHEMA s; CREATE VIEW s.news AS SELECT 'x' AS title, {PROOF} FROM main.news; USE s; FROM news",
    f"PREPARE p AS SELECT {PROOF}, 'x' AS title FROM news; EXECUTE p",
    f"PIVOT (SELECT {PROOF}, title FROM news) ON title USING count(*)",
    f"SELECT {PROOF}, title FROM query($$ SELECT * REPLACE ('x' AS title) FROM news $$)",
    f"SELECT {PROOF}, title FROM query_table('news')",
    "SELECT {'evidence': evidence, 'title': 'x'} AS item FROM news",
    f"SELECT {PROOF}, 'x' AS title, false AS computed, {OLD} AS newest_input_at FROM news",
    'SELECT title, \'x\' AS "Evidence", true AS "COMPUTED" FROM news',
    f"SELECT {PROOF}, content_hash FROM lake.news",
    "SELECT title, url FROM news",
    "SELECT 1 AS n",
    f"SELECT {PROOF}, title FROM news /* {'x' * 70000} */",
]


@pytest.fixture(scope="module")
def rows_of(lake):
    service = QueryService(viewpoint=Viewpoint(lake=lake, as_of=instant(AS_OF)), cursor_key=KEY)

    def rows(sql):
        question = ServiceQuestion(sql, {"forged": "ACME goes bankrupt"} if "$forged" in sql else None)
        return service.ask(question, pit=None, max_rows=1000, cursor=None).page.payload["data"]

    return rows


@pytest.fixture(scope="module")
def newest_instants(lake):
    """The available_at and source of each article, and the newest instant of each dataset."""
    with connect(AS_OF, lake=lake) as session:
        clocks = {row[0]: (iso(row[1]), row[2]) for row in session.sql(ROWS).rows()}
        newest = dict(session.sql("SELECT dataset, watermark FROM lake_info WHERE watermark IS NOT NULL").rows())
    return clocks, newest


@pytest.mark.parametrize("sql", OWN)
def test_rows_of_a_single_dataset_keep_their_available_at_and_source(rows_of, newest_instants, sql):
    clocks, _ = newest_instants
    rows = [{name.lower(): value for name, value in row.items()} for row in rows_of(sql)]
    assert rows
    for row in rows:
        assert (row["available_at"], row["available_at_source"]) in clocks.values()
        assert "id" not in row or clocks[row["id"]] == (row["available_at"], row["available_at_source"])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("sql", FORGED + COMPUTED)
def test_every_other_row_has_no_provenance_and_is_marked_as_computed(rows_of, newest_instants, sql):
    _, newest = newest_instants
    rows = rows_of(sql)
    assert rows
    for row in rows:
        assert not {name.lower() for name in row}.intersection(PROOF.split(", "))
        assert [name for name in row if name.lower() in MARKS] == list(MARKS)
        assert row["computed"] is True
        assert row["newest_input_at"] >= iso(newest["news"])


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
def test_an_answer_carries_the_newest_instant_of_the_datasets_read(rows_of, newest_instants, sql, read):
    _, newest = newest_instants
    due = max(at for name, at in newest.items() if read is None or name in read)
    assert {row["newest_input_at"] for row in rows_of(sql)} == {iso(due)}


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_rows_of_a_replaced_view_have_no_provenance(lake, isolation):
    forged = "CREATE OR REPLACE TEMP VIEW news AS SELECT * REPLACE ('x' AS title) FROM lake.news"
    with connect(AS_OF, lake=lake, isolation=isolation) as session:
        assert session.sql("FROM news").reading == Reading("news", ("news",))
        session.sql(f"{forged}; SELECT 1")
        assert session.sql("FROM news").reading == Reading()


@pytest.mark.parametrize("depth", [50, 500])
def test_a_statement_too_deep_to_be_understood_counts_as_reading_everything(lake, newest_instants, depth):
    _, newest = newest_instants
    deep = (
        "SELECT "
        + "(" * depth
        + "1"
        + ")" * depth
        + " AS n FROM reports WHERE "
        + " OR ".join(["form_type = 'x'"] * 900)
    )
    with connect(AS_OF, lake=lake) as session:
        reply = Provenance.of(session, session.sql(deep))
    assert not reply.proven
    assert reply.newest_input_at in (max(newest.values()), newest["reports"])
