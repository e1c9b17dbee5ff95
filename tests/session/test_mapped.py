"""Searches over mapped Arrow files return the same as over Parquet as of every instant. The files contain no later
rows.
"""

import itertools
import random
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from pitlake.clock import micros
from pitlake.errors import QueryFailed, SessionRefused
from pitlake.session.visible import footer, mapped
from pitlake.session.visible.cut_cache import CutCache
from tests.every import every
from tests.session import looks
from tests.sessions import open_at

START = datetime(2022, 11, 3, 14, 0, tzinfo=timezone.utc)
DAYS = 120
TEXTS = 60
FEW = 3
INSTANTS = tuple(START + timedelta(days=days, minutes=minutes) for days, minutes in ((40, 3), (75, 300), (119, 1)))
DATASETS = ("news", "qa_exchanges", "embeddings", "text_vectors")
READS = (*DATASETS, "benzinga_news", "transcripts", "call_transcripts")


def vector(chance):
    if chance.random() < 0.1:
        return chance.choice(([0.0, 0.0, 0.0], [1.0, 0.5]))
    return [1.0, chance.choice((0.1, 0.6, 1.0)) + chance.random() / 10, chance.random()]


def statement(name, moment, **facts):
    dated = {"available_at": moment, "available_at_source": "neo4j_created", "evidence": f"neo4j:{name}:{facts}"}
    return name, dated | facts


def texts(seed):
    """Yield articles and exchanges of many days, some changed later, with vectors of the graph and of a model."""
    chance = random.Random(seed)
    for number in range(TEXTS):
        created = START + timedelta(days=chance.choice((chance.randrange(DAYS), 60)), minutes=chance.randrange(600))
        ticker = chance.choice(("QBG", "QZP", None))
        later = [created + timedelta(days=chance.randrange(1, 40)) for _ in range(chance.choice((0, 0, 1, 2)))]
        for moment in (created, *sorted(set(later))):
            article = {"id": f"bzNews_{number}", "ticker": ticker, "title": f"text {number}", "created": created}
            message = {"tickers": [ticker] if ticker else [], "updated": moment if moment != created else None}
            yield statement("news", moment, **article, **message)
            near = {"kind": "news", "id": f"bzNews_{number}", "ticker": ticker}
            yield statement("embeddings", moment, **near, vector=vector(chance))
            yield statement("text_vectors", moment, **near, model="m", vector=vector(chance))
        call = {"transcript_id": f"call_{number}", "ticker": ticker or "CVX", "sequence": 1, "questioner": "Analyst"}
        yield statement("qa_exchanges", created, **call, exchanges="[]", conference_datetime=created)
        near = {"kind": "qa_exchange", "id": f"call_{number}_qa__1", "ticker": ticker or "CVX"}
        yield statement("embeddings", created, **near, vector=vector(chance))


def lake_of(root, rows):
    message = {name: [row for each, row in rows if each == name] for name in DATASETS}
    return looks.lake_of(root, message, [START + timedelta(days=days) for days in range(0, DAYS + 80, 20)])


@pytest.fixture(scope="module", params=[0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 6))])
def lake(request, tmp_path_factory):
    return lake_of(tmp_path_factory.mktemp("mapped") / "lake", list(texts(request.param)))


@pytest.fixture(scope="module")
def cuts(tmp_path_factory):
    return CutCache(tmp_path_factory.mktemp("cuts") / "boundary", few=FEW)


def answers(session):
    """Yield the results of each search by meaning, or the reason of its refusal."""
    seeds = session.sql("SELECT id FROM embeddings ORDER BY id LIMIT 3").arrow()["id"].to_pylist()
    question = [{"embedding": [1.0, 0.5, 0.5]}, {"embedding": [1.0, 0.5]}, *({"seed_id": seed} for seed in seeds)]
    question += [
        {"embedding": [1.0, 0.0, 1.0], "ticker": "QBG"},
        {"embedding": [1.0, 0.0, 1.0, 1.0]},
        {"seed_id": "none"},
    ]
    for query, values, model in itertools.product(
        ("vector_news", "vector_qa", "vector_combined"), question, (None, "m")
    ):
        inputs = values | {"k": TEXTS} | ({"model": model} if model else {})
        try:
            yield query, values, model, session.run(query, **inputs).arrow().to_pylist()
        except QueryFailed as refused:
            yield query, values, model, str(refused)


@pytest.mark.parametrize("as_of", INSTANTS)
def test_searches_over_mapped_vectors_equal_searches_over_parquet(lake, cuts, as_of):
    with (
        open_at(lake.snapshot(), as_of, datasets=READS, cut_cache=cuts) as searching,
        open_at(lake.snapshot(), as_of, datasets=READS, isolation="in_process", cut_cache=cuts) as reading,
    ):
        result = list(answers(searching))
        assert result == list(answers(reading))
        assert sum(isinstance(answer, list) and len(answer) > 1 for *_, answer in result) > 10
        assert len(searching._index.processes) == 3


def test_later_rows_change_no_answer_of_mapped_vectors(tmp_path):
    message, as_of = list(texts(4)), START + timedelta(days=80, microseconds=-1)
    reply = []
    for name, rows in (("every", message), ("ended", [each for each in message if each[1]["available_at"] <= as_of])):
        home = CutCache(tmp_path / f"cuts of {name}", few=FEW)
        lake = lake_of(tmp_path / name, rows)
        with open_at(lake.snapshot(), as_of, datasets=READS, cut_cache=home) as session:
            reply.append(list(answers(session)))
            assert len(session._index.processes) == 3
    assert reply[0] == reply[1]


def test_searches_over_mapped_vectors_are_the_same_after_compaction(tmp_path):
    lake = lake_of(tmp_path / "lake", list(texts(3)))
    reply = []
    for name in ("before", "after"):
        with open_at(
            lake.snapshot(), INSTANTS[-1], datasets=READS, cut_cache=CutCache(tmp_path / name, few=FEW)
        ) as session:
            reply.append(list(answers(session)))
            assert len(session._index.processes) == 3
        for dataset in DATASETS:
            lake.compact(dataset)
    assert reply[0] == reply[1]


@pytest.mark.parametrize("as_of", INSTANTS)
def test_no_file_that_is_mapped_holds_a_later_row(lake, tmp_path, as_of):
    with open_at(lake.snapshot(), as_of, datasets=READS, cut_cache=CutCache(tmp_path, few=FEW)) as session:
        session.run("vector_news", embedding=[1.0, 0.5, 0.5])
        content = [pa.ipc.open_file(path).read_all() for path in tmp_path.glob("*.arrow")]
        assert every(moment <= as_of for table in content for moment in table["available_at"].to_pylist())
        (vectors,) = session.sql(
            "SELECT (SELECT count(*) FROM lake.embeddings) + (SELECT count(*) FROM lake.text_vectors)"
        ).rows()[0]
        assert sum(table.num_rows for table in content) == vectors


def test_a_mapped_file_has_the_same_bytes_for_every_instant_that_shares_it(lake, tmp_path):
    def made(name, *instants):
        home = tmp_path / name
        for as_of in instants:
            with open_at(lake.snapshot(), as_of, datasets=READS, cut_cache=CutCache(home, few=FEW)) as session:
                session.run("vector_news", embedding=[1.0, 0.5, 0.5])
        return {path.name: path.read_bytes() for path in home.glob("*.arrow")}

    days = [INSTANTS[1] + timedelta(days=days) for days in range(-12, 1)]
    at_once, one_by_one = made("at once", days[-1]), made("one by one", *days)
    same = at_once.keys() & one_by_one.keys()
    assert len(same) > 4
    assert every(at_once[name] == one_by_one[name] for name in same)


def test_a_mapped_file_contains_no_bytes_of_neighbouring_rows(tmp_path):
    names = ["a", None, "c", "d", None, "f", "g", "h"]
    rows = {"name": names * 2, "number": [1, None] * 8, "vector": [[float(each)] * 2 for each in range(16)]}
    schema = pa.schema([("name", pa.string()), ("number", pa.int64()), ("vector", pa.list_(pa.float32()))])
    longer, alone = pa.table(rows, schema), pa.table({name: each[8:11] for name, each in rows.items()}, schema)
    for name, table in (("beside", longer.slice(8, 3)), ("alone", alone)):
        with (tmp_path / name).open("wb") as file:
            mapped.write([table], schema, file)
    assert (tmp_path / "beside").read_bytes() == (tmp_path / "alone").read_bytes()


def of_instants(values, kind=None):
    return pa.table({"available_at": pa.array(values, kind or pa.timestamp("us", "UTC"))})


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (of_instants([START, START + timedelta(microseconds=1)]), "later row"),
        (of_instants([START, None]), "rows without available_at"),
        (of_instants([0], pa.int64()), "not an instant"),
        (of_instants([START], pa.timestamp("ms", "UTC")), "not an instant"),
        (pa.table({"other": [1]}), "no column available_at"),
    ],
)
def test_a_mapped_file_with_late_or_invalid_instants_is_refused(tmp_path, rows, complaint):
    assert complaint in refusal(tmp_path, rows)


def test_a_mapped_file_that_is_cut_off_is_refused(tmp_path):
    assert "can't be read" in refusal(tmp_path, of_instants([START] * 100), -300)


def test_a_mapped_file_with_an_extra_column_is_refused(tmp_path):
    rows = of_instants([START]).append_column("other", pa.array([1]))
    assert "does not know: other" in refusal(tmp_path, rows)


def refusal(home, rows, end=None):
    path = home / "rows.arrow"
    with pa.ipc.new_file(path, rows.schema) as writer:
        writer.write_table(rows)
    path.write_bytes(path.read_bytes()[:end])
    with path.open("rb") as file, pytest.raises(SessionRefused) as refused:
        footer.prove(footer.read(file.fileno()), "vectors", micros(START), of_instants([]).schema)
    return str(refused.value)


def test_mapped_files_are_evicted_when_the_cache_is_full(lake, tmp_path):
    with open_at(
        lake.snapshot(), INSTANTS[-1], datasets=READS, cut_cache=CutCache(tmp_path, most=9_000, few=FEW)
    ) as session:
        assert len(session.run("vector_news", embedding=[1.0, 0.5, 0.5])) == 5
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 9_000 + 4_096
