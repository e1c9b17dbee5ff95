"""Random contracts and tables: answers as of T match the result of a slow filter, for all rows after T and every kind
of table.
"""

import random
from datetime import date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow as pa
import pyarrow.csv as csv
import pytest

from pitlake.lake import Lake
from pitlake.session import connect
from resources.postgres import postgres, programs
from tests.mounting.origins import ORIGINS, in_postgres
from tests.shared import postgres_folder
from tests.tally import Tally

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
        instants = [START + timedelta(minutes=self.random.randrange(60 * 24 * 60), seconds=1) for _ in range(8)]
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
        """Return the same rows up to the instant, and other rows after it."""
        after = [row | {"value": -1.0} for row in self.rows if not self.known(row)]
        remaining = [row for row in after if self.random.random() < 0.5]
        later = {"a": "W", "b": 9, "value": -2.0, "at": self.as_of + timedelta(days=1)}
        return [*filter(self.known, self.rows), *remaining, later]


def answers(lake, name, as_of):
    with connect(as_of, lake=lake, datasets=[name], isolation="in_process") as session:
        newest = session.sql(f"SELECT a, b, value FROM {name} ORDER BY ALL")
        every = [session.sql(sql) for sql in (f"FROM {name}_revisions ORDER BY ALL", "FROM lake_info", "FROM gaps")]
        return newest.rows(), [newest.receipt.result_sha256, *(each.receipt.result_sha256 for each in every)]


@pytest.mark.parametrize("batch", [0, *(pytest.param(number, marks=pytest.mark.long) for number in range(1, BATCHES))])
def test_answers_equal_the_oracles_and_reveal_nothing_of_the_future(tmp_path, batch):
    lakes = [Lake(tmp_path / "one"), Lake(tmp_path / "other")]
    for seed in range(batch, CASES, BATCHES):
        case, name = Case(seed), f"case_{seed}"
        options = {"key": case.keys, "available_at": "at", "lag": case.lag or None}
        lakes[0].mount(case.table(case.rows), name, **options)
        lakes[1].mount(case.table(case.other_future()), name, **options)
        reply, its_bytes = answers(lakes[0], name, case.as_of)
        assert reply == case.oracle(), seed
        assert answers(lakes[1], name, case.as_of) == (reply, its_bytes), seed


ZONES = ("America/New_York", "Asia/Tokyo", "UTC", "Europe/Berlin")
UNSET = (None, date(1970, 1, 1), date(1900, 1, 1), date(1899, 12, 30))
TABLES, INSTANTS = 40, 12


def in_csv(frame, folder, _):
    csv.write_csv(frame, folder / "own.csv")
    return str(folder / "own.csv")


def in_pandas(frame, *_):
    return frame.to_pandas()


def in_polars(frame, *_):
    return pl.from_arrow(frame)


KINDS = (in_csv, in_pandas, in_polars, *ORIGINS)


class Stated:
    """A random table of days or instants, with unset values and ends, in a zone."""

    def __init__(self, seed):
        rng = self.random = random.Random(f"stated/{seed}")
        self.zone = rng.choice(ZONES)
        self.as_days, self.has_ends, self.is_naive = (rng.random() < 0.5 for _ in range(3))
        self.rows = [self._row(place) for place in range(rng.randrange(3, 30))]
        self.rows.append(
            {"a": "Z", "seen": START.date() if self.as_days else self._instant(), "until": None, "value": 0}
        )

    def _instant(self):
        return START + timedelta(minutes=self.random.randrange(60 * 24 * 60), seconds=1)

    def _time(self, unset):
        if self.random.random() < unset:
            return self.random.choice(UNSET)
        return START.date() + timedelta(days=self.random.randrange(60)) if self.as_days else self._instant()

    def _row(self, place):
        return {"a": f"K{place}", "seen": self._time(0.1), "until": self._time(0.4), "value": place}

    def known(self, statement):
        """Return the instant at which a time takes effect; None for an unset time."""
        if statement is None or statement in UNSET:
            return None
        if isinstance(statement, datetime):
            return statement
        zones = (self.zone,) if self.is_naive else (self.zone, "UTC")
        return max(datetime.combine(statement + timedelta(days=1), time(), ZoneInfo(zone)) for zone in zones)

    def oracle(self, as_of):
        display = []
        for row in self.rows:
            start, end = self.known(row["seen"]), self.known(row["until"]) if self.has_ends else None
            if start is None:
                continue
            ends = end is not None and max(start, end) <= as_of
            starts = start <= as_of and (end is None or end > start)
            display += [(row["a"], row["value"], ends)] if starts or ends else []
        return sorted(display)

    def frame(self):
        zone = None if self.is_naive else "UTC"
        stored = pa.timestamp("us", zone)
        columns = {name: [self._stored(row[name]) for row in self.rows] for name in ("seen", "until")}
        return pa.table({
            "a": [row["a"] for row in self.rows],
            "value": pa.array([row["value"] for row in self.rows], pa.int64()),
            **{name: pa.array(values, stored) for name, values in columns.items()},
        })  # fmt: skip

    def _stored(self, statement):
        """Return a time as stored in a frame, where days are midnights."""
        if isinstance(statement, date) and not isinstance(statement, datetime):
            statement = datetime.combine(statement, time(), timezone.utc)
        elif statement is not None and self.is_naive:
            statement = statement.astimezone(ZoneInfo(self.zone))
        return statement and (statement.replace(tzinfo=None) if self.is_naive else statement)

    def instants(self, count):
        times = [at for row in self.rows for name in ("seen", "until") if (at := self.known(row[name]))]
        for _ in range(count):
            yield self.random.choice(times).astimezone(timezone.utc) + timedelta(
                microseconds=self.random.randrange(-1, 2)
            )


def share(seed, root):
    """Compare one table as of a hundred instants, for the campaign `mounts`."""
    if programs() is None:
        return compared(Stated(seed), root, None, 100)
    with postgres_folder() as place, postgres(place / "data") as running:
        return compared(Stated(seed), root, running, 100)


def compared(case, root, server, count):
    """Compare the answers of one table, stored as every kind of table, with its oracle's."""
    tally, frame, instants = Tally(), case.frame(), sorted(case.instants(count))
    until, ended = ("until", "until IS NOT NULL") if case.has_ends else (None, "false")
    frame = frame if case.has_ends else frame.drop_columns("until")
    for stored in KINDS:
        if stored is in_postgres and server is None:
            continue
        folder = root / stored.__name__
        folder.mkdir()
        lake, table = Lake(folder / "lake"), stored(frame, folder, server)
        lake.mount(table, "own", key="a", available_at="seen", until=until, timezone=case.zone, most_refused=1.0)
        with connect(min(instants), lake=lake, datasets=["own"], isolation="in_process") as session:
            for as_of in instants:
                session.advance(as_of)
                rows = session.sql(f"SELECT a, value, {ended} FROM own ORDER BY ALL").rows()
                tally.compared += 1
                tally.answered += bool(rows)
                if rows != case.oracle(as_of):
                    tally.failures.append(f"{stored.__name__} as of {as_of}")
    return tally


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, TABLES))])
def test_every_kind_of_table_shows_the_same_rows(tmp_path, request, seed):
    tally = compared(Stated(seed), tmp_path, request.getfixturevalue("server") if seed else None, INSTANTS)
    assert tally.answered
    assert not tally.failures
