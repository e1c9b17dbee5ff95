"""Late arrivals in the quality report match a slow oracle that keeps the source's histories and the polls."""

import json
import random
from dataclasses import replace
from datetime import date, datetime, time, timedelta, timezone
from statistics import median
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from pitlake import clock
from pitlake.contract import Column
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import staged_schema
from pitlake.report import late, site
from tests.toys import NOTES

NEW_YORK = ZoneInfo("America/New_York")
DAYS = [date(2024, 3, 8) + timedelta(days=offset) for offset in range(5)]  # the clocks change on the third
ENTITIES = ("AAPL", "QBAR", "QZP")
BY_DAY = replace(NOTES, columns=(*NOTES.columns, Column(name="ticker", type="string", meaning="Ticker.")),
                 entity="ticker")  # fmt: skip
BY_ENTITY = replace(BY_DAY, partitioned=False)


def look(lake, dataset, records, observed_at, *, days=None, entities=None, run_id="run"):
    """Run one poll that reads these records: of a partitioned dataset for these days, otherwise for these entities."""
    rows = [
        {"id": name, "said": None, "ticker": ticker, "available_at": at, "available_at_source": "neo4j_created"}
        | {"evidence": f"toy:{name}"}
        for name, ticker, at in records
    ]
    with lake.stage(dataset, run_id) as stage:
        if dataset.partitioned:
            for day in days:
                own = [row for row in rows if clock.new_york_day(row["available_at"]) == day]
                stage.add(day, pa.Table.from_pylist(own, staged_schema(dataset)), extracted=len(own))
        else:
            stage.poll(days and (days[0], days[-1]), entities)
            stage.add(None, pa.Table.from_pylist(rows, staged_schema(dataset)), extracted=len(rows))
        lake.publish(stage, observed_at)


def measured(lake, dataset, **question):
    return next(measure.late for measure in site.read(lake, contracts={"notes": dataset}, **question).measures)


def at(day, hour):
    return datetime.combine(day, time(hour), NEW_YORK).astimezone(timezone.utc)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(4, 9))
@pytest.mark.parametrize("dataset", [BY_DAY, BY_ENTITY], ids=["by day", "by entity"])
def test_late_arrivals_equal_those_of_the_slow_oracle(tmp_path, dataset, seed):
    """The oracle knows when each record appeared in its source and what each poll covered, but no rows."""
    chance, lake = random.Random(seed), Lake(tmp_path / "lake")
    records = [
        (f"n{number}", chance.choice(ENTITIES), at(chance.choice(DAYS), chance.randrange(24))) for number in range(40)
    ]
    came = {name: dated + timedelta(hours=chance.choice((0, 0, 5, 40, 90))) for name, _, dated in records}
    seen, missed, lags = set(), {}, {}
    for number, hours in enumerate(sorted(chance.sample(range(10, 240), 7))):
        observed_at = at(DAYS[0], 0) + timedelta(hours=hours)
        first = chance.randrange(len(DAYS))
        days = DAYS[first : chance.randrange(first, len(DAYS)) + 1]
        if dataset.partitioned and observed_at < at(days[-1], 0):
            continue
        entities = None if dataset.partitioned else chance.sample(ENTITIES, chance.randint(1, 3))
        covered = [
            (name, ticker, dated) for name, ticker, dated in records
            if clock.new_york_day(dated) in days and (entities is None or ticker in entities) and dated <= observed_at
        ]  # fmt: skip
        there = [each for each in covered if came[each[0]] <= observed_at]
        look(lake, dataset, there, observed_at, days=days, entities=entities, run_id=f"run-{number}")
        for name, _, dated in covered:
            if came[name] > observed_at:
                missed[name] = observed_at
            elif name not in seen:
                seen.add(name)
                if name in missed:
                    lags[name] = (observed_at - dated).total_seconds()
    result = measured(lake, dataset)
    assert result.count == len(lags)
    reply = {each.evidence: each.missed_at for each in result.newest}
    assert len(reply) == min(len(lags), late.MOST_LISTED)
    assert reply.items() <= {f"toy:{name}": missed[name] for name in lags}.items()
    if lags:
        assert (result.median, result.largest) == pytest.approx((median(lags.values()), max(lags.values())))


def test_the_report_counts_and_lists_late_arrivals(tmp_path):
    lake = Lake(tmp_path / "lake")
    records = [(f"n{number}", "AAPL", at(DAYS[0], number)) for number in range(5)]
    look(lake, BY_DAY, records[:1], at(DAYS[1], 0), days=DAYS[:1], run_id="first")
    look(lake, BY_DAY, records[:2], at(DAYS[2], 0), days=DAYS[:1], run_id="second")
    look(lake, BY_DAY, records, at(DAYS[4], 0), days=DAYS[:1], run_id="third")
    site.write(site.read(lake, contracts={"notes": BY_DAY}, at=at(DAYS[4], 0)), tmp_path / "site")
    document = json.loads((tmp_path / "site" / site.NUMBERS).read_text())["datasets"]["notes"]["late"]
    # The first came after 47 hours, the others after 91 to 93: one hour less, because the clocks went forward.
    assert (document["count"], document["median_seconds"], document["largest_seconds"]) == (4, 91.5 * 3600, 93 * 3600)
    assert [each["evidence"] for each in document["newest"]] == ["toy:n4", "toy:n3", "toy:n2", "toy:n1"]
    assert document["newest"][-1]["missed_at"] == clock.iso(at(DAYS[1], 0))
    page = (tmp_path / "site" / "notes.html").read_text()
    assert "toy:n4" in page.split('id="late"')[1]
    assert "3.9 days" in page.split('id="late"')[1]
    assert "4</a> late arrivals" in (tmp_path / "site" / site.INDEX).read_text()
    earlier = measured(lake, BY_DAY, version=2)
    assert (earlier.count, [each.evidence for each in earlier.newest]) == (1, ["toy:n1"])


def test_only_the_newest_late_arrivals_are_listed(tmp_path):
    lake = Lake(tmp_path / "lake")
    records = [(f"n{number}", "AAPL", at(DAYS[0], 1)) for number in range(late.MOST_LISTED + 3)]
    look(lake, BY_DAY, [], at(DAYS[1], 0), days=DAYS[:1], run_id="first")
    look(lake, BY_DAY, records, at(DAYS[2], 0), days=DAYS[:1], run_id="second")
    result = measured(lake, BY_DAY)
    assert (result.count, len(result.newest)) == (len(records), late.MOST_LISTED)


def test_within_an_hour_a_look_misses_only_records_dated_up_to_it(tmp_path):
    lake, begin = Lake(tmp_path / "lake"), at(DAYS[0], 10)
    records = {minute: (f"n{minute}", "AAPL", begin + timedelta(minutes=minute)) for minute in (1, 9, 20, 21)}
    for after, there in ((5, (1,)), (20, (1,)), (50, (1, 9, 20, 21))):
        result = [records[minute] for minute in there]
        look(lake, BY_DAY, result, begin + timedelta(minutes=after), days=DAYS[:1], run_id=f"after-{after}")
    assert [each.evidence for each in measured(lake, BY_DAY).newest] == ["toy:n20", "toy:n9"]


def test_a_look_at_the_exact_instant_of_a_row_counts_as_missing_that_row(tmp_path):
    lake, begin = Lake(tmp_path / "lake"), at(DAYS[0], 10)
    look(lake, BY_DAY, [], begin, days=DAYS[:1], run_id="first")
    look(lake, BY_DAY, [("n0", "AAPL", begin)], begin + timedelta(minutes=5), days=DAYS[:1], run_id="second")
    assert measured(lake, BY_DAY).count == 1
