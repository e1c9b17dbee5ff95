"""Tombstones and sorting of all revisions lead to the same newest revisions."""

import dataclasses
from datetime import timedelta

import pytest

from pitlake.datasets import all_datasets
from pitlake.session.sql.statements import installed
from tests.wall.sealed import Sealed
from tests.wall.worlds import DATASETS, T, World, build


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return build(tmp_path_factory.mktemp("newest") / "lake", future=1, rows=200)


def before_tombstones(world: World) -> World:
    """Return the same world as an older lake version without tombstones."""
    tables = {name: state for name, state in world.snapshot.tables.items() if not name.startswith("superseded/")}
    return World(world.root, dataclasses.replace(world.snapshot, tables=tables))


@pytest.mark.parametrize("days", [-50, -7, 0, 30])
def test_tombstones_and_sorting_give_the_same_newest_rows(world, days):
    as_of = T + timedelta(days=days)
    dead = 0
    with Sealed(world, as_of).session as item, Sealed(before_tombstones(world), as_of).session as other:
        for name in DATASETS:
            question = f"FROM {name} ORDER BY ALL"
            assert item.sql(question).arrow().equals(other.sql(question).arrow()), name
            dead += item.sql(f"SELECT count(*) FROM lake.superseded_{name}").rows()[0][0]
    assert dead > len(DATASETS)


def test_a_filter_on_a_view_is_pushed_down_to_the_files(world):
    with Sealed(world).session as session:
        plan = session.sql("EXPLAIN SELECT close FROM prices WHERE symbol = 'QBG'").rows()[0][1]
    assert "WINDOW" not in plan
    assert "symbol='QBG'" in plan.replace(" ", "")


def test_every_view_that_can_use_tombstones_does():
    own = {name for name, ready in installed().items() if not ready.is_plain}
    assert own <= {"embeddings", "earnings_events", "text_vectors"} & set(all_datasets())
