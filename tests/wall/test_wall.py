import hashlib
from collections import Counter
from contextlib import closing
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from pitlake.questions import catalogue
from pitlake.questions.tickers import Tickers
from tests.every import every
from tests.wall import attacks, fuzz, statements, truth
from tests.wall.distinguish import Finding, distinguish
from tests.wall.sealed import Sealed
from tests.wall.weaker import DESIGNS, InProcessFileList
from tests.wall.worlds import CANARY, CIKS, DATASETS, TICKERS, T, build

# Attacks that change their session, so that each needs a separate session.
ALTERING = ("clocks", "shadowing", "settings", "writes", "dynamic")
RENAMED = ("names", "companies", "sec_filings", "news", "prices", "reports")
READING = tuple(kind for kind in attacks.CLASSES if kind not in ALTERING)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def aimed(kinds, dataset="news"):
    return lambda world: [(attack.name, attack.sql) for attack in attacks.load(world, dataset, kinds)]


@pytest.mark.parametrize("kind", READING)
def test_reading_attacks_reveal_nothing_of_the_future(tmp_path, kind):
    report = distinguish(tmp_path / "lake", Sealed, aimed((kind,)), a_session=20)
    assert report.failures == []
    assert report.noisy == []


@pytest.mark.parametrize("kind", ALTERING)
def test_altering_attacks_reveal_nothing_of_the_future(tmp_path, kind):
    report = distinguish(tmp_path / "lake", Sealed, aimed((kind,)), a_session=3)
    assert report.failures == []
    assert report.noisy == []


SAMPLED = ("news", "prices", "qa_exchanges")


@pytest.mark.parametrize(
    "dataset",
    [name if name in SAMPLED else pytest.param(name, marks=pytest.mark.long) for name in DATASETS if name != "news"],
)
def test_oracle_attacks_on_other_datasets_reveal_nothing_of_the_future(tmp_path, dataset):
    report = distinguish(tmp_path / "lake", Sealed, aimed(("oracles", "metadata"), dataset), a_session=40)
    assert report.failures == []


@pytest.mark.parametrize("step", [160, pytest.param(40, marks=pytest.mark.long)])
def test_a_sample_of_all_sql_functions_reveals_nothing_of_the_future(tmp_path, step):
    report = distinguish(tmp_path / "lake", Sealed, lambda world: list(fuzz.called(world))[::step], a_session=40)
    assert report.failures == []
    assert report.compared > 4_000 / step


def test_generated_hostile_statements_reveal_nothing_of_the_future(tmp_path):
    report = fuzz.sealed_attacks(tmp_path / "lake", 240)
    assert report.failures == []


@pytest.mark.parametrize("share", [0, *(pytest.param(share, marks=pytest.mark.long) for share in (1, 2, 3))])
def test_answers_equal_those_of_a_lake_without_the_future(tmp_path, share):
    tally = truth.share(share, tmp_path / "worlds", 200)
    assert tally.failures == []
    assert tally.answered > 0.9 * (tally.compared - tally.counts["left out"])


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.__name__)
def test_the_suite_catches_weaker_designs(tmp_path, design):
    outcome = iter(range(10_000))

    def open_runner(world):
        scratch = tmp_path / f"scratch-{next(outcome)}"
        scratch.mkdir()
        return design(world, T, scratch)

    reading = distinguish(tmp_path / "lake", open_runner, aimed(("direct_reads", "metadata")), a_session=20)
    altering = distinguish(tmp_path / "lake", open_runner, aimed(("writes",)), a_session=3)
    assert altering.of("write")
    assert design is InProcessFileList or (reading.of("value") and reading.of("oracle"))


def test_a_constant_difference_is_a_finding_and_a_single_difference_is_noise(tmp_path):
    counts = Counter()

    class Runner:
        def __init__(self, world):
            self.files = len(world.snapshot.files(DATASETS[0]))

        def run(self, sql):
            counts[sql] += 1
            return f"{self.files}" if sql == "leak" else f"{counts[sql] == 2}"

        def close(self):
            pass

    report = distinguish(tmp_path / "lake", Runner, lambda _: [(sql, sql) for sql in ("odd", "leak")])
    assert (report.failures, report.noisy) == ([Finding("oracle", "leak", "leak")], ["odd"])


@pytest.mark.parametrize("hindsight", ["show", "omit"])
def test_a_company_renamed_after_t_changes_no_answer(tmp_path, hindsight):
    question = [f"SELECT * FROM {name}{kind} ORDER BY ALL" for name in RENAMED for kind in ("", "_revisions")]
    question += [catalogue.get(name) for name in ("filings_of_company", "names_of_company")]
    values = {"ticker": "QBG", "start_date": None, catalogue.COMPANY: f"{CIKS[2]} QBG"}
    answers, later = [], []
    for future in (1, 2):
        world = build(tmp_path / str(future), future)
        with closing(Sealed(world, hindsight=hindsight)) as session:
            answers.append([session.run(sql, _given(sql, values)) for sql in question])
        later.append({cik for ticker in TICKERS for cik in Tickers(world.snapshot).resolve(ticker, None).ciks})
    assert answers[0] == answers[1]
    assert every(not (CANARY in answer or answer.startswith("error")) for answer in answers[0])
    assert Tickers(world.snapshot).resolve("QBG", T).ciks == (CIKS[2],)
    assert set(CIKS) != later[0] or later[0] != later[1]


def _given(question, values):
    return (
        None
        if isinstance(question, str)
        else {placeholder: values[placeholder] for placeholder in catalogue.placeholders(question.sql)}
    )


def test_worlds_are_equal_up_to_t_and_differ_after_it(tmp_path):
    item, two = (build(tmp_path / str(future), future) for future in (1, 2))
    for name in DATASETS:
        files = [[file for file in world.snapshot.files(name) if file.lo <= T] for world in (item, two)]
        rows = [pa.concat_tables([pq.read_table(file.path, partitioning=None) for file in each]) for each in files]
        past = [table.filter(pc.less_equal(table["available_at"], pa.scalar(T))) for table in rows]
        past = [table.sort_by("content_hash").drop_columns("observed_at") for table in past]
        assert past[0].equals(past[1])
        assert past[0].num_rows
        assert len(files[0]) != len(files[1])  # the same rows are in different files
    assert CANARY in item.root.joinpath("_lake/log", f"{1:020d}.json").read_text()


def test_statements_are_a_function_of_their_seed():
    once = hashlib.sha256("".join(statements.select(seed) for seed in range(500)).encode()).hexdigest()
    again = hashlib.sha256("".join(statements.select(seed) for seed in range(500)).encode()).hexdigest()
    assert once == again
    assert len(list(islice(fuzz.functions(), 300))) == 300
