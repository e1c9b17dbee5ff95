"""kill -9 at any step of a run: published rows stay readable, nothing incomplete is visible, and a re-run converges."""

from pathlib import Path

import pytest

from assets.graph import all_extractors
from pitlake.lake.lake import Lake
from resources.graph.open import GraphSettings, open_graph
from tests.partitions import run_partitions
from tests.processes import kill
from tests.toys import OBSERVED, TOY, ToyGraph, between, seen, stored

DAYS = between("2024-03-01", "2024-03-31")
STEPS = {
    "extract": ("assets.reading", "as_dicts", 4, "before"),
    "stage": ("pitlake.lake.publishing.stage:Stage", "add", 9, "before"),
    "gate": ("pitlake.lake.publishing.refusal", "refuse", 1, "before"),
    "publish, before the commit": ("pitlake.lake.tables.delta:DeltaTables", "commit", 1, "before"),
    "publish, between two tables": ("pitlake.lake.tables.delta:DeltaTables", "commit", 2, "before"),
    "publish, before it is visible": ("pitlake.lake.storage.log:LakeLog", "append", 1, "before"),
}


def notes(count):
    """Return a graph of `count` notes and one note without a date."""
    graph = ToyGraph()
    for number in range(count):
        graph.write(f"n{number:03}", f"2024-03-{1 + number % 28:02}T12:00:00-05:00", f'{{"v":{number}}}')
    graph.write(f"undated, one of {count}", None)
    return graph


def extract_notes(lake):
    run_partitions(TOY, DAYS, notes(100), lake, run_id="killed", observed_at=OBSERVED)


def extract_prices(lake, kind, root):
    year = between("2024-01-01", "2024-12-31")
    with open_graph(GraphSettings(local=kind, root=Path(root))) as door:
        run_partitions(all_extractors()["prices"], year, door, lake, run_id="killed", observed_at=OBSERVED)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_killed_run_leaves_the_old_version_and_converges(tmp_path, step):
    lake, clean = Lake(tmp_path / "lake"), Lake(tmp_path / "clean")
    for item in (lake, clean):
        run_partitions(TOY, DAYS, notes(20), item, run_id="first", observed_at=OBSERVED)
    before = (lake.head(), seen(lake), seen(lake, "gaps/notes"))
    kill(step, extract_notes, lake.root)
    again = Lake(lake.root)
    assert (again.head(), seen(again), seen(again, "gaps/notes")) == before
    run_partitions(TOY, DAYS, notes(100), again, run_id="again", observed_at=OBSERVED)
    run_partitions(TOY, DAYS, notes(100), clean, run_id="clean", observed_at=OBSERVED)
    assert (seen(again), seen(again, "gaps/notes")) == (seen(clean), seen(clean, "gaps/notes"))
    assert not list((lake.root / "_staging").glob("*/*"))


@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("world")
def test_a_run_killed_while_it_streams_from_a_server_converges(story, tmp_path):
    lake, january = Lake(tmp_path / "lake"), between("2024-01-01", "2024-01-31")
    settings, extractor = story.settings, all_extractors()["prices"]
    with story.graph() as door:
        run_partitions(extractor, january, door, lake, run_id="first", observed_at=OBSERVED)
        before = (lake.head(), len(stored(lake, "prices")))
        kill(("assets.reading", "as_dicts", 2, "before"), extract_prices, lake.root, settings.local, settings.root)
        assert (lake.head(), len(stored(lake, "prices"))) == before
        published = run_partitions(extractor, january, door, lake, run_id="again", observed_at=OBSERVED)
    assert not published.changed
