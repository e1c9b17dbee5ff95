"""A quarter's backtest by Dagster, in a process that is killed twice: `python -m tests.forge.quarters`.

Each of its steps must match an undisturbed run's.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import date
from pathlib import Path

import dagster as dg
from pydantic import Field

from pipelines.forge import forge_backtest
from resources.forge import ForgeResource
from resources.lake import LakeResource
from tests.forge.walks import Deadly, scripted, transcript, world

QUARTER, SINCE, UNTIL = "2014-04", date(2014, 4, 1), date(2014, 6, 30)
ALL = ("morning", "eod", "weekly")


class ScriptedForge(ForgeResource):
    """A desk with scripted models. Its process dies once before each answer whose number is in `kills`."""

    kills: list[int] = Field(default=[])

    def ground(self, lake):
        ground = super().ground(lake)
        models = (lambda role: Deadly(ground.folder, self.kills)) if self.kills else scripted
        return replace(ground, models=models)


def decided(home, lake, triggers, kills=()):
    """Materialise the quarter, or resume it."""
    return dg.materialize(
        [forge_backtest],
        partition_key=QUARTER,
        resources={"forge": ScriptedForge(memory=str(home), kills=list(kills)), "lake": LakeResource(root=str(lake))},
        run_config={"ops": {"forge_backtest": {"config": {"triggers": list(triggers)}}}},
    )


def killed(home, lake, triggers, kills):
    """Materialise the quarter in processes that die, then in one that ends; return their exit codes."""
    command = [sys.executable, "-m", "tests.forge.quarters", "--home", home, "--lake", lake]
    command += ["--triggers", *triggers, "--kills", *kills]
    return [subprocess.run(list(map(str, command)), check=False).returncode for _ in range(len(kills) + 1)]


def steps(home, triggers):
    """Return every request and answer in the quarter, by decision."""
    return transcript(Path(f"{home}-walks") / f"{QUARTER}-{'-'.join(triggers)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--home", type=Path, help="Memory; its runs are kept beside it.")
    parser.add_argument("--lake", type=Path)
    parser.add_argument("--triggers", nargs="+", default=list(ALL))
    parser.add_argument("--kills", type=int, nargs="+", default=[211, 503])
    reply = parser.parse_args()
    if reply.home:
        decided(reply.home, reply.lake, reply.triggers, reply.kills)
        return
    with tempfile.TemporaryDirectory(prefix="quarters-") as folder:
        lake, calm, harmed = world(Path(folder) / "lake", SINCE, UNTIL), Path(folder) / "calm", Path(folder) / "harmed"
        decided(calm, lake, reply.triggers)
        ends = killed(harmed, lake, reply.triggers, reply.kills)
        item, other = steps(calm, reply.triggers), steps(harmed, reply.triggers)
    differing = sorted(name for name in item.keys() | other.keys() if item.get(name) != other.get(name))
    print(f"{len(item)} decisions and days between them, ends {ends}, {len(differing)} differ: {differing[:5]}")
    sys.exit(bool(differing) or not item or ends != [-signal.SIGKILL] * len(reply.kills) + [0])


if __name__ == "__main__":
    main()
