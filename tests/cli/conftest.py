"""A small published lake, and two ways to run a command line: in this process and in a separate one."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pitlake import cli
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from tests.kit import publish

ROOT = Path(__file__).resolve().parents[2]
CREATED = datetime(2024, 2, 14, 21, 30, tzinfo=timezone.utc)
BEFORE, BETWEEN, AFTER = "2024-02-14T16:00:00-05:00", "2024-02-14T20:00:00-05:00", "2024-02-16T09:00:00-05:00"


def article(number: int, title: str, created: datetime, updated: datetime | None = None) -> dict:
    return {
        "id": f"bzNews_{number}",
        "ticker": "QBG",
        "tickers": ["QBG"],
        "title": title,
        "channels": ["Earnings"],
        "created": created,
        "updated": updated,
        "available_at": updated or created,
        "available_at_source": "neo4j_created",
        "evidence": f"neo4j:News:bzNews_{number}",
    }


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with two articles, the first rewritten a day later, and one record without a date."""
    lake = Lake(tmp_path_factory.mktemp("cli") / "lake")
    late = CREATED + timedelta(days=1)
    lost = StagedGap("unverifiable", "created is missing or unreadable", "neo4j:News:bzNews_9", CREATED)
    publish(
        lake,
        "news",
        [article(1, "Draft [red]headline", CREATED), article(2, "Other", CREATED)],
        "first",
        (lost,),
        CREATED,
    )
    publish(lake, "news", [article(1, "Final headline", CREATED, late)], "second")
    return lake.root


@dataclass(frozen=True)
class Said:
    """The output and exit code of a command line."""

    code: int
    out: str
    err: str


Pitlake = Callable[..., Said]


@pytest.fixture
def pitlake(lake: Path, capfdbinary: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Pitlake:
    """A function that runs a command line on the small lake in this process."""
    monkeypatch.setenv("PITLAKE_LAKE", str(lake))

    def run(*arguments: str) -> Said:
        capfdbinary.readouterr()
        code = cli.invoke(arguments)
        output = capfdbinary.readouterr()
        return Said(code, output.out.decode(), output.err.decode())

    return run


def process(*arguments: str, lake: Path, **settings: object) -> subprocess.Popen:
    """Start a command line on a lake in a separate process."""
    return subprocess.Popen(
        [sys.executable, "-c", "from pitlake.cli import main; main()", *arguments],
        env=os.environ | {"PITLAKE_LAKE": str(lake), "PYTHONPATH": str(ROOT)},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | settings,
    )
