"""Session.run: named queries in Python, with validated values and answers in every form."""

import pytest

import pitlake
from pitlake.errors import BadInput
from tests.doors.conftest import AS_OF


@pytest.fixture
def session(lake):
    with pitlake.connect(AS_OF, lake=lake) as handle:
        yield handle


def test_a_named_query_run_by_name_answers_as_when_bound_by_hand(session):
    from pitlake.questions import catalogue

    query = catalogue.get("news_latest")
    question = session.run("news_latest", ticker="qbg", limit=3)
    assert question.arrow() == session.ask(query, query.bind({"ticker": "QBG", "limit": 3})).arrow()
    assert list(question.df().columns) == [field.name for field in query.columns]


def test_a_panel_takes_pairs_from_a_pandas_frame(session):
    frame = session.sql("SELECT 'QBG' AS ticker, TIMESTAMPTZ '2024-03-01 00:00:00+00' AS at").df()
    pairs = list(zip(frame.ticker, frame["at"], strict=True))
    (row,) = session.run("panel", pairs=pairs, concepts=["us-gaap:Revenues"]).rows()
    assert row[6:] == (
        68.0,
        '{"us-gaap:Revenues":100.0}',
        15,
        "USD",
        '{"us-gaap:Revenues":"iso4217:USD"}',
        (
            '{"us-gaap:Revenues":{"form_type":"10-Q","accession_no":"0000000001-24-000000",'
            '"period_start":"2023-10-01","period_end":"2023-12-31"}}'
        ),
        "prices",
        ["neo4j:HAS_PRICE:2024-02-29:QBG", "neo4j:Fact:1-0"],
    )


def test_a_query_of_datasets_the_session_lacks_is_refused_and_names_them(lake):
    with (
        pitlake.connect(AS_OF, lake=lake, datasets=["prices"]) as session,
        pytest.raises(BadInput, match="reads benzinga_news, embeddings, news, text_vectors"),
    ):
        session.run("vector_news", seed_id="bzNews_1")
