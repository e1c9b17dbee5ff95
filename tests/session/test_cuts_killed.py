"""kill -9 while cuts and their indexes of words are made: what is left is made again or is whole, and never half."""

import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pitlake.lake import Lake
from pitlake.session import open_session
from pitlake.session.visible import words
from pitlake.session.visible.cut_cache import CutCache
from tests.session.test_words import FEW, INSTANTS, MANY, articles, lake_of

QUERY = "margin revenue"
VICTIM = """
import os, signal, sys
from pkgutil import resolve_name
from tests.session import test_cuts_killed
owner, name = resolve_name(sys.argv[3]), sys.argv[4]
left, real = int(sys.argv[5]), getattr(owner, name)

def until_killed(*given, **named):
    global left
    left -= 1
    if left == 0 and sys.argv[6] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    result = real(*given, **named)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return result

setattr(owner, name, until_killed)
test_cuts_killed.search(sys.argv[1], sys.argv[2])
"""
STEPS = [
    ("pitlake.lake.closed", "write", 3, "after"),
    ("pitlake.session.visible.words", "write", 2, "after"),
    ("pitlake.lake.copies", "vouch", 4, "before"),
]
MORE = [
    ("pitlake.lake.closed", "write", 3, "before"),
    ("pitlake.session.visible.words", "write", 1, "before"),
    ("pitlake.lake.copies", "vouch", 4, "after"),
    ("pitlake.session.visible.words", "write", 4, "after"),
]


def search(root, home):
    """The answer of a search and the session's files, made in this directory of cuts."""
    with open_session(
        Lake(root).snapshot(), INSTANTS[2], datasets=["news"], cut_cache=CutCache(Path(home), few=FEW)
    ) as asked:
        return asked.run("news_full_text", query=QUERY, limit=MANY).arrow()


def kept(home):
    return {path.name: path.read_bytes() for path in home.glob("*.parquet")}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return lake_of(tmp_path_factory.mktemp("killed") / "lake", list(articles(0))).root


@pytest.fixture(scope="module")
def undisturbed(lake, tmp_path_factory):
    home = tmp_path_factory.mktemp("undisturbed") / "cuts"
    found = search(lake, home)
    indexes = [path for path in home.glob("*.parquet") if pq.read_schema(path).equals(words.SCHEMA)]
    assert len(indexes) > 3
    return found, kept(home)


@pytest.mark.parametrize("step", [*STEPS, *(pytest.param(step, marks=pytest.mark.long) for step in MORE)], ids=str)
def test_what_a_killed_search_left_is_whole_or_is_made_again(lake, undisturbed, tmp_path, step):
    owner, *more = map(str, step)
    command = [sys.executable, "-c", VICTIM, str(lake), str(tmp_path / "cuts"), owner, *more]
    assert subprocess.run(command, check=False).returncode == -9
    found, files = undisturbed
    assert len(kept(tmp_path / "cuts")) < len(files)
    assert search(lake, tmp_path / "cuts").equals(found)
    assert kept(tmp_path / "cuts") == files
