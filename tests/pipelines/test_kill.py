"""kill -9 at any step of a run: published rows stay readable, nothing incomplete is visible, and a re-run converges."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assets.graph import all_extractors
from pitlake.lake.lake import Lake
from tests.partitions import run_partitions
from tests.pipelines.killed import DAYS, notes
from tests.toys import OBSERVED, TOY, between, seen, stored

ROOT = Path(__file__).resolve().parents[2]
STEPS = {
    "extract": ("assets.reading:as_dicts", 4),
    "stage": ("pitlake.lake.publishing.stage:Stage.add", 9),
    "gate": ("pitlake.lake.publishing.refusal:refuse", 1),
    "publish, before the commit": ("pitlake.lake.tables.delta:DeltaTables.commit", 1),
    "publish, between two tables": ("pitlake.lake.tables.delta:DeltaTables.commit", 2),
    "publish, before it is visible": ("pitlake.lake.storage.log:LakeLog.append", 1),
}


def run_and_die(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", *map(str, arguments)], cwd=ROOT, env=os.environ, capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_run_leaves_the_old_version_and_converges(tmp_path, step):
    lake, clean = Lake(tmp_path / "lake"), Lake(tmp_path / "clean")
    for item in (lake, clean):
        run_partitions(TOY, DAYS, notes(20), item, run_id="first", observed_at=OBSERVED)
    before = (lake.head(), seen(lake), seen(lake, "gaps/notes"))
    run_and_die("tests.pipelines.killed", *STEPS[step], lake.root)
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
        run_and_die("tests.pipelines.killed", "assets.reading:as_dicts", 2, lake.root, settings.local, settings.root)
        assert (lake.head(), len(stored(lake, "prices"))) == before
        published = run_partitions(extractor, january, door, lake, run_id="again", observed_at=OBSERVED)
    assert not published.changed
