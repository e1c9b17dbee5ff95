"""Statements with their own dates may arrive in any order, and answers do not depend on the order."""

import random
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from unittest import mock

import pytest

from pitlake import connect
from pitlake.lake import Lake
from pitlake.session.contracts import Catalogue
from tests.lake.world import TOY, Toy, publish

DATED = replace(TOY, identity=("key", "revised"), thing=("key",), newer_by=("revised",), partitioned=False)
"""A contract with `newer_by`, the column that decides which statement of a key is newer."""
START = datetime(2024, 1, 8, 15, tzinfo=timezone.utc)
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)
KEYS = [f"k{number}" for number in range(12)]


def expected(result, as_of, known_by):
    """Return the expected text of each key. A key's first record is available at its date, later records no earlier
    than their arrival. The latest date is current; of equal dates, the later arrival.
    """
    newest, seen = {}, set()
    for came, toys in result.items():
        for toy in toys if came <= known_by else ():
            counts = max(came, toy.available_at) if toy.key in seen else toy.available_at
            if counts <= as_of and (toy.key not in newest or newest[toy.key].revised <= toy.revised):
                newest[toy.key] = toy
            seen.add(toy.key)
    return {key: toy.text for key, toy in newest.items()}


@pytest.mark.parametrize("seed", range(4))
def test_the_statement_with_the_latest_date_is_current_in_any_order_of_arrival(tmp_path, seed):
    lake, result, catalogue = Lake(tmp_path), {}, Catalogue({TOY.name: DATED})
    rng = random.Random(seed)
    for number in range(4):  # each arrival mixes new records, archives, older vintages and rewrites of one date
        came = START + number * 10 * DAY
        dated = {key: came - rng.choice((0, 0, 1, 5, 15, 40)) * DAY for key in KEYS if rng.random() < 0.6}
        result[came] = [Toy(key, f"{key} of {number}", at, revised=at) for key, at in dated.items()]
    for came, toys in result.items():
        with mock.patch("pitlake.clock.now", lambda came=came: came):
            publish(lake, toys, came, dataset=DATED, run=f"r{came:%j}")
    dates = {key: [toy.revised for toys in result.values() for toy in toys if toy.key == key] for key in KEYS}
    assert [key for key in KEYS if dates[key] != sorted(dates[key])], "no older statement arrives after a newer one"
    for known_by in result:
        for as_of in (START - 3 * DAY, *result):
            with connect(
                as_of, known_by=known_by + MINUTE, lake=lake, catalogue=catalogue, isolation="in_process"
            ) as session:
                answer = dict(session.sql("SELECT key, text FROM toys").rows())
            assert answer == expected(result, as_of, known_by), (as_of, known_by)
