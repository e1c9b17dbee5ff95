"""Random contracts and tables: what is known as of T is what a slow filter says, whatever comes after T."""

import random
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

from pitlake.lake import Lake
from pitlake.session import connect

CASES, BATCHES = 300, 25
START = datetime(2024, 1, 1, tzinfo=timezone.utc)
LAGS = {"": timedelta(0), "1 day": timedelta(days=1), "90 minutes": timedelta(minutes=90)}
FORMS = (
    lambda at: at.isoformat(),
    lambda at: at.astimezone(timezone(timedelta(hours=-5))).isoformat(),
    lambda at: at.isoformat().replace("+00:00", "Z"),
)


class Case:
    """A random table with its contract, and an instant."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lag = self.random.choice([*LAGS])
        self.keys = self.random.choice([["a"], ["a", "b"]])
        instants = [START + timedelta(minutes=self.random.randrange(60 * 24 * 60)) for _ in range(8)]
        cells = {}
        for _ in range(self.random.randrange(1, 40)):
            row = {"a": self.random.choice("XYZ"), "b": self.random.randrange(3), "at": self.random.choice(instants)}
            cells[tuple(row[name] for name in (*self.keys, "at"))] = row | {"value": self.random.random()}
        self.rows = [*cells.values()]
        self.random.shuffle(self.rows)
        edge = self.random.choice(instants) + LAGS[self.lag]
        self.as_of = edge + timedelta(microseconds=self.random.choice([-1, 0, 1]))

    def known(self, row):
        return row["at"] + LAGS[self.lag] <= self.as_of

    def oracle(self):
        newest = {}
        for row in sorted(filter(self.known, self.rows), key=lambda row: row["at"]):
            newest[tuple(row[name] for name in self.keys)] = row
        return sorted((row["a"], row["b"], row["value"]) for row in newest.values())

    def table(self, rows):
        write = self.random.choice(FORMS)
        schema = pa.schema([("a", pa.string()), ("b", pa.int64()), ("value", pa.float64()), ("at", pa.string())])
        return pa.Table.from_pylist([row | {"at": write(row["at"])} for row in rows], schema)

    def other_future(self):
        """The same rows up to the instant, and others after it."""
        after = [row | {"value": -1.0} for row in self.rows if not self.known(row)]
        kept = [row for row in after if self.random.random() < 0.5]
        later = {"a": "W", "b": 9, "value": -2.0, "at": self.as_of + timedelta(days=1)}
        return [*filter(self.known, self.rows), *kept, later]


def answers(lake, name, as_of):
    with connect(as_of, lake=lake, datasets=[name], isolation="in_process") as session:
        newest = session.sql(f"SELECT a, b, value FROM {name} ORDER BY ALL")
        every = [session.sql(sql) for sql in (f"FROM {name}_revisions ORDER BY ALL", "FROM lake_info", "FROM gaps")]
        return newest.rows(), [newest.receipt.result_sha256, *(one.receipt.result_sha256 for one in every)]


@pytest.mark.parametrize("batch", [0, *(pytest.param(number, marks=pytest.mark.long) for number in range(1, BATCHES))])
def test_answers_are_the_oracles_and_no_byte_is_of_the_future(tmp_path, batch):
    lakes = [Lake(tmp_path / "one"), Lake(tmp_path / "other")]
    for seed in range(batch, CASES, BATCHES):
        case, name = Case(seed), f"case_{seed}"
        options = {"key": case.keys, "available_at": "at", "lag": case.lag or None}
        lakes[0].mount(case.table(case.rows), name, **options)
        lakes[1].mount(case.table(case.other_future()), name, **options)
        told, its_bytes = answers(lakes[0], name, case.as_of)
        assert told == case.oracle(), seed
        assert answers(lakes[1], name, case.as_of) == (told, its_bytes), seed
