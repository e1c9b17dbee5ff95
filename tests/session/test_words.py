"""Searches with a word index return the same as reading every document, to the last digit, as of every instant."""

import itertools
import random
from datetime import datetime, timedelta, timezone
from hashlib import sha256

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pitlake.datasets import all_datasets
from pitlake.errors import QueryFailed, QueryInterrupted, SessionLost
from pitlake.lake import Lake
from pitlake.lake.storage.manifest import Snapshot
from pitlake.lake.tables.query import calculator
from pitlake.session import index_searches
from pitlake.session.limits import Caps
from pitlake.session.visible import words
from pitlake.session.visible.binding import Binding
from pitlake.session.visible.cut_cache import CutCache
from tests.catalogue.test_full_text import slow_bm25
from tests.session import looks
from tests.sessions import open_at

START = datetime(2022, 11, 3, 14, 0, tzinfo=timezone.utc)
DAYS = 200
ARTICLES = 150
FEW = 3
BOTH = ("news", "benzinga_news")
MANY = 1_000
ROWS = Caps(rows=MANY, bytes=1 << 20, truncate=False)
VOCABULARY = (
    "oil", "gas", "gross", "margin", "Ölpreis", "2024", "rev", "revenue", "ÉTÉ", "cut", "naïve", "a1b2", "QBG",
)  # fmt: skip
GLUE = (" ", " ", " ", "-", "; ", "\n", "’", " — ", "_")
TICKERS = ("QBG", "QZP", "CVX", "")
QUERIES = (
    "oil", "margin revenue", "gross AND margin", '"gross margin"', '"gross margin" AND oil', "ölpreis été OR 2024",
    "nowhere AND oil",
)  # fmt: skip
LEFT_OUT = (
    "SELECT count(*)::BIGINT AS blocks FROM promising ANTI JOIN (FROM first UNION ALL FROM rest) USING (file, block)"
)
INSTANTS = tuple(START + timedelta(days=days, minutes=minutes) for days, minutes in ((45, 3), (60, 300), (199, 1)))


def text(chance, most):
    parts = [chance.choice(VOCABULARY) + chance.choice(GLUE) for _ in range(chance.randrange(most))]
    return "".join(parts) or None


def articles(seed):
    """Yield articles of many days, dozens of them of one day; two in five are rewritten once or twice later."""
    chance = random.Random(seed)
    for number in range(ARTICLES):
        created = START + timedelta(days=chance.choice((chance.randrange(DAYS), 60)), minutes=chance.randrange(600))
        message = [
            None,
            *(created + timedelta(days=chance.randrange(1, 90)) for _ in range(chance.choice((0, 0, 0, 1, 2)))),
        ]
        for updated in sorted(message, key=lambda moment: moment or created):
            yield {
                "id": f"bzNews_{number}",
                "tickers": sorted(chance.sample(TICKERS, chance.randrange(4))),
                "title": text(chance, 6) or "oil",
                "teaser": text(chance, 9),
                "body": text(chance, 40),
                "created": created,
                "updated": updated,
                "available_at": updated or created,
                "available_at_source": "neo4j_created",
                "evidence": f"neo4j:News:bzNews_{number}",
            }


def lake_of(root, rows):
    """Return a lake polled every thirty days; each poll finds the newest version of each article."""
    return looks.lake_of(root, {"news": rows}, [START + timedelta(days=days) for days in range(0, DAYS + 120, 30)])


@pytest.fixture(scope="module", params=[0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def lake(request, tmp_path_factory):
    return lake_of(tmp_path_factory.mktemp("words") / "lake", list(articles(request.param)))


@pytest.fixture(scope="module")
def cuts(tmp_path_factory):
    return CutCache(tmp_path_factory.mktemp("cuts") / "boundary", few=FEW)


@pytest.mark.parametrize("as_of", INSTANTS)
def test_an_index_finds_what_reading_every_text_finds(lake, cuts, as_of):
    with (
        open_at(lake.snapshot(), as_of, cut_cache=cuts) as indexed,
        open_at(lake.snapshot(), as_of, isolation="in_process", datasets=BOTH) as reading,
    ):
        news = indexed.sql("SELECT id, tickers, concat_ws(chr(10), title, teaser, body) AS text FROM news").rows()
        for query in QUERIES:
            for ticker in (None, "QBG"):
                question = {"query": query, "ticker": ticker}
                result = indexed.run("news_full_text", **question, limit=MANY).arrow()
                assert result.equals(reading.run("news_full_text", **question, limit=MANY).arrow()), question
                about = {each: text for each, tickers, text in news if ticker is None or ticker in tickers}
                expected = slow_bm25([each.lower() for each in about.values()], query) if about else {}
                scores = dict(zip(result["id"].to_pylist(), result["ft_score"].to_pylist(), strict=True))
                by_id = {list(about)[number]: score for number, score in expected.items()}
                assert scores == pytest.approx(by_id, abs=1e-5)
        best = indexed.run("news_full_text", query="oil gas", limit=4).arrow()
        assert best.equals(reading.run("news_full_text", query="oil gas", limit=4).arrow())
        (backend,) = indexed._index.processes.values()
        assert reading._index is None
        counts = (
            "SELECT count(*)::BIGINT AS rows FROM lake.news_indexed "
            "UNION ALL SELECT documents::BIGINT FROM lake.news_size"
        )
        with_words, display = (row["rows"] for row in backend.run(counts, None, ROWS).table.to_pylist())
        assert with_words > FEW
        assert display < with_words or as_of != INSTANTS[-1]


def test_searches_combine_an_index_with_few_unindexed_rows_of_earlier_years(tmp_path):
    new_year = datetime(2023, 1, 1, 5, 0, tzinfo=timezone.utc)
    rows = list(articles(3))
    earlier = [row for row in rows if row["available_at"] < new_year and row["updated"] is None][:FEW]
    lake = lake_of(tmp_path / "lake", [*earlier, *(row for row in rows if row["available_at"] >= new_year)])
    with (
        open_at(lake.snapshot(), INSTANTS[-1], cut_cache=CutCache(tmp_path / "cuts", few=FEW)) as indexed,
        open_at(lake.snapshot(), INSTANTS[-1], isolation="in_process", datasets=BOTH) as reading,
    ):
        result = [each.run("news_full_text", query="oil margin", limit=MANY).arrow() for each in (indexed, reading)]
        assert indexed._index.processes
        assert {row["id"] for row in earlier} & set(result[0]["id"].to_pylist())
        assert result[0].equals(result[1])


def index_files(home):
    """Return the hashes of the cached index files, by name."""
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in home.glob("*.parquet")
        if "word" in pq.read_schema(path).names
    }


def test_an_index_depends_only_on_rows_up_to_the_instant_and_is_reused_later(tmp_path):
    rows = list(articles(7))
    as_of = START + timedelta(days=120)
    result = []
    for name, some in (("all", rows), ("past", [row for row in rows if row["available_at"] <= as_of])):
        lake, home = lake_of(tmp_path / name, some), tmp_path / f"cuts of {name}"
        with open_at(lake.snapshot(), as_of, cut_cache=CutCache(home, few=FEW)) as session:
            answer = session.run("news_full_text", query="oil margin")
        for path in home.glob("*.parquet"):
            assert pq.read_table(path)["available_at"].to_pylist() <= [as_of] * pq.read_metadata(path).num_rows
        result.append((sorted(index_files(home).values()), answer.arrow()))
    assert result[0][0] == result[1][0] != []
    assert result[0][1].equals(result[1][1])
    home = tmp_path / "cuts of all"
    before = inodes(home)
    with open_at(
        Lake(tmp_path / "all").snapshot(), as_of + timedelta(hours=1), cut_cache=CutCache(home, few=FEW)
    ) as session:
        session.run("news_full_text", query="oil")
    assert before.items() <= inodes(home).items()
    assert index_files(home).keys() <= before.keys()


@pytest.mark.parametrize(("searched", "expected"), [((), set()), (("news", "prices"), {"news"})])
def test_only_searched_datasets_with_texts_get_an_index(searched, expected):
    datasets = [all_datasets()[name] for name in (*BOTH, "prices")]
    assert Binding(Snapshot(1), INSTANTS[0], datasets, indexed=searched).words.keys() == expected


def inodes(home):
    return {path.name: path.stat().st_ino for path in home.glob("*.parquet")}


def test_a_damaged_index_is_not_trusted(lake, tmp_path):
    home = tmp_path / "cuts"

    def ask():
        with open_at(lake.snapshot(), INSTANTS[-1], cut_cache=CutCache(home, few=FEW)) as session:
            return session.run("news_full_text", query="oil margin", limit=MANY).arrow()

    right = ask()
    for name in index_files(home):
        other = pq.read_table(home / name)
        times = pa.array([9] * other.num_rows, pa.int32())
        pq.write_table(other.set_column(other.column_names.index("times"), "times", times), home / name)
    assert ask().equals(right)


def test_a_session_with_changed_state_is_searched_without_an_index(lake, cuts):
    with open_at(lake.snapshot(), INSTANTS[-1], datasets=BOTH, cut_cache=cuts) as session:
        session.sql("CREATE TEMP TABLE mine AS SELECT 1 AS one")
        assert len(session.run("news_full_text", query="oil")) == 20
        assert session._index.processes == {}


def test_each_statement_of_a_script_takes_only_the_parameters_it_names(lake, cuts):
    with open_at(lake.snapshot(), INSTANTS[-1], datasets=BOTH, cut_cache=cuts) as session:
        script = "CREATE OR REPLACE TEMP TABLE given AS SELECT $a AS a; SELECT a + $b AS sum FROM given"
        assert session.sql(script, {"a": 1, "b": 2}).rows() == [(3,)]
        with pytest.raises(QueryFailed, match=r"\bc\b"):
            session.sql(script, {"a": 1, "b": 2, "c": 3})


def test_few_texts_have_no_index(lake, tmp_path):
    with open_at(lake.snapshot(), INSTANTS[-1], cut_cache=CutCache(tmp_path / "cuts")) as session:
        assert len(session.run("news_full_text", query="oil")) == 20
        assert session._index.processes == {}


def test_a_search_for_a_single_ticker_uses_no_index(lake, cuts):
    with open_at(lake.snapshot(), INSTANTS[-1], datasets=BOTH, cut_cache=cuts) as session:
        assert len(session.run("news_full_text", query="oil", ticker="QBG"))
        assert session._index.processes == {}
        session.run("news_full_text", query="oil")
        with pytest.raises(QueryFailed, match="no word to search for"):
            session.run("news_full_text", query="-")
        assert session.run("news_full_text", query="oil").receipt.question.prelude == ()


def test_articles_that_only_benzinga_has_are_searched_beside_an_index(tmp_path):
    message = {"news": list(articles(2)), "benzinga_news": []}
    for row in articles(8):
        number = int(row["id"].removeprefix("bzNews_"))
        own = {"id": str(number + 100 * (number % 3)), "channels": [], "tags": [], "evidence": "benzinga"}
        message["benzinga_news"].append(row | own | {"available_at_source": "provider_metadata"})
    lake = looks.lake_of(
        tmp_path / "lake", message, [START + timedelta(days=days) for days in range(0, DAYS + 120, 30)]
    )
    for as_of in INSTANTS:
        with (
            open_at(lake.snapshot(), as_of, cut_cache=CutCache(tmp_path / "cuts", few=FEW)) as indexed,
            open_at(lake.snapshot(), as_of, isolation="in_process", datasets=BOTH) as reading,
        ):
            for question in ({"query": query, "limit": limit} for query in QUERIES for limit in (3, MANY)):
                result = indexed.run("news_full_text", **question).arrow()
                assert result.equals(reading.run("news_full_text", **question).arrow()), question
            assert set(result["source"].to_pylist()) <= set(BOTH)
            every = indexed.run("news_full_text", query="oil gas margin", limit=MANY).arrow()
            assert set(every["source"].to_pylist()) == set(BOTH)
            assert indexed._index.processes


def test_searches_skip_blocks_that_cannot_reach_the_top_results(tmp_path):
    texts = [row | {"id": f"bzNews_9{number}{row['id'][7:]}"} for number in range(6) for row in articles(2)]
    many = lake_of(tmp_path / "lake", texts)
    with (
        open_at(many.snapshot(), INSTANTS[-1], cut_cache=CutCache(tmp_path / "cuts", few=FEW)) as indexed,
        open_at(many.snapshot(), INSTANTS[-1], isolation="in_process", datasets=BOTH) as reading,
    ):
        left_out = 0
        for query in (*QUERIES, "oil gas cut", "margin AND gas cut"):
            for limit in (1, 3):
                question = {"query": query, "limit": limit}
                result = indexed.run("news_full_text", **question).arrow()
                assert result.equals(reading.run("news_full_text", **question).arrow()), question
                (backend,) = indexed._index.processes.values()
                left_out += backend.run(LEFT_OUT, None, ROWS).table["blocks"].to_pylist()[0]
        assert left_out


def test_ties_in_score_are_resolved_the_same_with_and_without_an_index(tmp_path):
    alike = {"title": "oil", "teaser": "gas", "body": "cut"}
    texts = [row | alike | {"id": f"bzNews_9{number}{row['id'][7:]}"} for number in range(6) for row in articles(2)]
    lake = lake_of(tmp_path / "lake", texts)
    with (
        open_at(lake.snapshot(), INSTANTS[-1], cut_cache=CutCache(tmp_path / "cuts", few=FEW)) as indexed,
        open_at(lake.snapshot(), INSTANTS[-1], isolation="in_process", datasets=BOTH) as reading,
    ):
        for limit in (1, 2, 20):
            result = indexed.run("news_full_text", query="oil", limit=limit).arrow()
            assert result.equals(reading.run("news_full_text", query="oil", limit=limit).arrow())
        assert indexed._index.processes


def test_a_phrase_is_found_among_texts_that_only_contain_its_words(tmp_path):
    message = {"title": "oil", "teaser": None, "body": "margin gross"}
    texts = [row | message | {"id": f"bzNews_9{number}{row['id'][7:]}"} for number in range(6) for row in articles(2)]
    phrased = message | {"body": "oil cut gas gross margin cut"}
    texts = [row | phrased if (row["available_at"] - START).days % 10 == 0 else row for row in texts]
    lake = lake_of(tmp_path / "lake", texts)
    with (
        open_at(lake.snapshot(), INSTANTS[-1], cut_cache=CutCache(tmp_path / "cuts", few=FEW)) as indexed,
        open_at(lake.snapshot(), INSTANTS[-1], isolation="in_process", datasets=BOTH) as reading,
    ):
        for limit in (1, 7):
            question = {"query": '"gross margin"', "limit": limit}
            result = indexed.run("news_full_text", **question).arrow()
            assert len(result) == limit
            assert result.equals(reading.run("news_full_text", **question).arrow())


def test_an_index_written_in_several_runs_is_sorted_and_complete(monkeypatch, tmp_path):
    monkeypatch.setattr(words, "_RUN_ROWS", 64)
    monkeypatch.setattr(words, "_LEAST_ROWS", 7)
    chance = random.Random(1)
    texts = [[chance.choice(VOCABULARY).lower() for _ in range(chance.randrange(9))] for _ in range(150)]
    texts[63] = ["spread"]  # occurs only in the last row of a block
    texts[70] = ["oil"] * 60_000  # more than there are characters below the surrogates
    lengths = [len(" ".join(text)) for text in texts]
    rows = pa.table(
        {
            "title": [" ".join(text) for text in texts],
            "available_at": pa.array([START] * 150, pa.timestamp("us", "UTC")),
        }
    )
    words.write([rows.slice(0, 3), rows.slice(3, 97), rows.slice(100)], ("title",), tmp_path / "index.parquet")
    result_rows = pq.read_table(tmp_path / "index.parquet").to_pylist()
    assert result_rows == sorted(result_rows, key=lambda each: (each["word"], each["block"]))
    reply = {}
    for item in result_rows:
        stands = [item["block"] * 64 + bit for bit in range(64) if item["texts"] >> bit & 1]
        times = [ord(letter) - 2048 * (ord(letter) >= 0xE000) for letter in item["times"]]
        reply.setdefault(item["word"], {}).update(zip(stands, times, strict=True))
        if item["word"]:
            mean = next(
                other["least"] for other in result_rows if (other["word"], other["block"]) == ("", item["block"])
            )
            weak = min((0.3 + 0.9 * lengths[row] / mean) / often for row, often in zip(stands, times, strict=True))
            assert weak * 0.999999 < item["least"] <= weak
        else:
            assert item["characters"] == [lengths[row] for row in stands]
    counted = {
        word: {row: text.count(word) for row, text in enumerate(texts) if word in text}
        for word in {*itertools.chain(*texts)}
    }
    assert reply == {**counted, "": dict.fromkeys(range(150), 1)}


def test_an_index_splits_words_like_queries_do_for_all_letters(tmp_path):
    chance = random.Random(1)
    letters = [chr(code) for code in range(1, 0x20000) if not 0xD800 <= code < 0xE000] + ["a", " ", "é"] * 9_000
    chance.shuffle(letters)
    texts = ["".join(letters[start : start + 100]) for start in range(0, len(letters), 100)]
    rows = pa.table(
        {
            "title": [None, "", *texts],
            "teaser": [None, None, *texts[1:], "end"],
            "available_at": pa.array([START] * (len(texts) + 2), pa.timestamp("us", "UTC")),
        }
    )
    words.write([rows], ("title", "teaser"), tmp_path / "index.parquet")
    with calculator(rows=rows, found=pq.read_table(tmp_path / "index.parquet")) as connection:
        connection.execute(words._macros())
        expected = (
            "SELECT word, count(*) FROM (SELECT unnest(list_distinct(search_words(concat_ws(chr(10), title, teaser)))) "
            "AS word FROM rows) GROUP BY word ORDER BY word"
        )
        indexed = "SELECT word, sum(bit_count(texts))::BIGINT FROM found WHERE word <> '' GROUP BY word ORDER BY word"
        assert connection.sql(indexed).fetchall() == connection.sql(expected).fetchall()


def test_searches_reuse_the_indexes_made_by_compaction(tmp_path, monkeypatch):
    lake = lake_of(tmp_path / "lake", list(articles(0)))
    indexed, write = [], words.write
    monkeypatch.setattr(words, "write", lambda *arguments: indexed.append(1) or write(*arguments))

    def search(cuts):
        with open_at(lake.snapshot(), START + timedelta(days=DAYS + 30), cut_cache=cuts) as session:
            return session.run("news_full_text", query="oil gas").arrow()

    assert lake.compact("news").changed
    expected = search(CutCache(tmp_path / "unprepared", few=FEW))
    without = len(indexed)
    cuts = CutCache(tmp_path / "prepared", few=FEW)
    index_searches(lake, ["prices"], cuts)
    assert len(indexed) == without
    index_searches(lake, ["news"], cuts)
    by_compaction = len(indexed) - without
    assert search(cuts).equals(expected)
    assert by_compaction > 0
    assert len(indexed) - without - by_compaction < without


@pytest.fixture
def act_while_indexed(lake, cuts, monkeypatch):
    """A generator function that yields a session, in which `what` runs while the first search opens the index."""

    def act(what):
        with open_at(lake.snapshot(), INSTANTS[-1], datasets=BOTH, cut_cache=cuts) as session:
            start, started = session._index.start, []

            def open_then_act(names, searched):
                started.append(start(names, searched))
                what(session)
                return started[0]

            monkeypatch.setattr(session._index, "start", open_then_act)
            yield session
            yield psutil.Process(started[0].pid) if psutil.pid_exists(started[0].pid) else None

    return act


def test_a_session_closed_while_its_index_is_opened_stays_closed(act_while_indexed):
    steps = act_while_indexed(lambda session: session.close())
    session = next(steps)
    with pytest.raises(SessionLost, match="was closed"):
        session.run("news_full_text", query="oil")
    assert next(steps) is None
    steps.close()


def test_an_interrupt_while_an_index_is_opened_stops_the_search(act_while_indexed):
    steps = act_while_indexed(lambda session: session.interrupt())
    session = next(steps)
    with pytest.raises(QueryInterrupted):
        session.run("news_full_text", query="oil")
    assert len(session.run("news_full_text", query="oil")) == 20
    steps.close()
