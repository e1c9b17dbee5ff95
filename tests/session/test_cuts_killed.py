"""kill -9 while cuts and their word indexes are written: afterwards each file is complete or is written again."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pitlake.session.visible import words
from pitlake.session.visible.cut_cache import CutCache
from tests.processes import kill
from tests.session.test_words import FEW, INSTANTS, MANY, articles, lake_of
from tests.sessions import open_at

QUERY = "margin revenue"
STEPS = [
    ("pitlake.lake.tables.compacted", "write", 3, "after"),
    ("pitlake.session.visible.words", "write", 2, "after"),
    ("pitlake.lake.storage.signed_cache", "sign", 4, "before"),
]
MORE = [
    ("pitlake.lake.tables.compacted", "write", 3, "before"),
    ("pitlake.session.visible.words", "write", 1, "before"),
    ("pitlake.lake.storage.signed_cache", "sign", 4, "after"),
    ("pitlake.session.visible.words", "write", 4, "after"),
]


def search(lake, home):
    """Return the result of a search in a session that uses this directory of cuts."""
    cuts = CutCache(Path(home), few=FEW)
    with open_at(lake.snapshot(), INSTANTS[2], datasets=["news", "benzinga_news"], cut_cache=cuts) as question:
        return question.run("news_full_text", query=QUERY, limit=MANY).arrow()


def cached_files(home):
    return {path.name: path.read_bytes() for path in home.glob("*.parquet")}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return lake_of(tmp_path_factory.mktemp("killed") / "lake", list(articles(0)))


@pytest.fixture(scope="module")
def undisturbed(lake, tmp_path_factory):
    home = tmp_path_factory.mktemp("undisturbed") / "cuts"
    result = search(lake, home)
    indexes = [path for path in home.glob("*.parquet") if pq.read_schema(path).equals(words.SCHEMA)]
    assert len(indexes) > 3
    return result, cached_files(home)


@pytest.mark.parametrize("step", [*STEPS, *(pytest.param(step, marks=pytest.mark.long) for step in MORE)], ids=str)
def test_files_left_by_a_killed_search_are_complete_or_rewritten(lake, undisturbed, tmp_path, step):
    kill(step, search, lake.root, tmp_path / "cuts")
    result, files = undisturbed
    assert len(cached_files(tmp_path / "cuts")) < len(files)
    assert search(lake, tmp_path / "cuts").equals(result)
    assert cached_files(tmp_path / "cuts") == files
