"""Truncation invariance of the catalogue: the answer as of T is the same as on a lake without rows after T."""

import random
from collections import defaultdict
from datetime import datetime, timedelta, timezone

import pytest

import pitlake
from pitlake.errors import QueryFailed
from pitlake.lake import Lake
from pitlake.questions import catalogue
from tests.doors import conftest as doors

QUESTIONS = 60
WORDS = ("oil", "output", "margin", '"gross margin"', "guidance AND raised", "line OR fell", "Text", "149")
MICROSECOND = timedelta(microseconds=1)
MOMENTS = [
    datetime(2024, 1, 2, 15, tzinfo=timezone.utc) + shift
    for shift in (-MICROSECOND, timedelta(0), timedelta(days=60) - MICROSECOND, timedelta(days=60), timedelta(days=100))
]


def revisions():
    """Yield a later revision of every third article."""
    for number, row in enumerate(doors.news()):
        later = row["available_at"] + timedelta(days=20)
        if number % 3 == 0:
            yield row | {"title": "oil margin guidance", "updated": later, "available_at": later}


RUNS = (
    ("news", doors.news), ("news", revisions), ("embeddings", doors.embeddings), ("prices", doors.prices),
    ("xbrl_facts", doors.facts), ("reports", doors.reports), ("report_sections", doors.sections),
)  # fmt: skip


BETWEEN_LOOKS = timedelta(days=20)


def build(root, until=None):
    """Build a lake whose sources were polled every twenty days, each time for new records."""
    lake = Lake(root)
    lake.start()
    for number, (name, rows) in enumerate(RUNS):
        looks = defaultdict(list)
        for row in rows():
            if until is None or row["available_at"] <= until:
                looks[(row["available_at"] - doors.START) // BETWEEN_LOOKS].append(row)
        for look, result in sorted(looks.items()):
            seen = doors.START + (look + 1) * BETWEEN_LOOKS - timedelta(microseconds=1)
            doors.publish(lake, name, result, f"run-{number}-{look}", observed_at=seen)
    return lake


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return build(tmp_path_factory.mktemp("truncation") / "whole")


def question(rng, as_of):
    """Return a catalogue query, and values that sometimes match something."""
    query = catalogue.get(rng.choice(list(catalogue.all_queries())))
    pairs = [(rng.choice(("QBG", "QZP")), as_of - timedelta(hours=rng.randrange(2000))) for _ in range(3)]
    pool = {
        "ticker": rng.choice(("QBG", "QZP")),
        "start_date": "2024-01-20",
        "query": rng.choice(WORDS),
        "channel": "earn",
        "concept_qname": doors.CONCEPT,
        "member_qnames": ["a:One"],
        "pairs": pairs,
        "concepts": [doors.CONCEPT],
        "series": "GDP",
        "day": "2024-03-01",
        "period": "2024-01-01",
        "kind": "fx",
        "instrument": "EURUSD",
        "limit": rng.choice((1, 5, 20)),
        **rng.choice(
            ({"seed_id": f"bzNews_{rng.randrange(150)}"}, {"embedding": [rng.random() for _ in doors.HEADLINES]})
        ),
    }
    inputs = {parameter.name: pool[parameter.name] for parameter in query.parameters if parameter.name in pool}
    inputs |= {
        parameter.name: ["GDP"]
        for parameter in query.parameters
        if (parameter.name, parameter.type) == ("series", "texts")
    }
    return query, query.bind(inputs)


def ask(session, query, values):
    """Return the answer or the error. Neither may depend on the future."""
    try:
        return session.ask(query, values).arrow()
    except QueryFailed as refused:
        return str(refused)


@pytest.mark.parametrize(
    "as_of",
    [*MOMENTS[:1], *MOMENTS[3:], *(pytest.param(each, marks=pytest.mark.long) for each in MOMENTS[1:3])],
    ids=lambda moment: moment.isoformat(),
)
def test_every_answer_equals_that_of_a_lake_without_rows_after_t(whole, tmp_path, as_of):
    bare = build(tmp_path / "bare", until=as_of)
    rng = random.Random(as_of.isoformat())
    answered = 0
    with pitlake.connect(as_of, lake=whole) as full, pitlake.connect(as_of, lake=bare) as cut:
        for _ in range(QUESTIONS):
            query, values = question(rng, as_of)
            ours, theirs = ask(full, query, values), ask(cut, query, values)
            assert type(ours) is type(theirs), (query.name, values)
            assert ours == theirs if isinstance(ours, str) else ours.equals(theirs), (query.name, values)
            answered += not isinstance(ours, str) and ours.num_rows > 0
    assert answered or as_of == MOMENTS[0]
