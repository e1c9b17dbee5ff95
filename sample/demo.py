"""The demo: the sample world through the whole house, then two questions that two instants answer differently.

`python -m sample.demo` starts the embedded graph, loads the world, runs every dataset in one Dagster run, shows what is
in the lake and asks. It owns `.pitlake/demo` and begins it anew each time. Progress goes to stderr, findings to stdout.
"""

import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from pitlake.errors import PitlakeError
from pitlake.lake.lake import Lake
from sample.manifest import DEMO_QUESTION, DEMO_RESTATEMENT

HOME = Path(".pitlake/demo")
FIRST_DAY, LAST_DAY = "2023-01-01", "2025-06-30"
EVENT_BATCH = {"DAGSTER_EVENT_BATCH_SIZE": "500", "DAGSTER_EMIT_PARTITION_SUBSET_IN_PLANNED_EVENTS": "1"}
WIDTH = 110

progress = Console(stderr=True, highlight=False)
out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def main() -> int:
    """Run the demo and return the exit code."""
    try:
        home = HOME.absolute()
        shutil.rmtree(home, ignore_errors=True)
        fill(home)
        lake = Lake(home / "lake")
        show_contents(lake)
        for demonstration in (DEMO_QUESTION, DEMO_RESTATEMENT):
            show_answers(lake, demonstration)
        show_next_steps(DEMO_QUESTION)
    except PitlakeError as error:
        progress.print(f"demo: {error}", style="red", markup=False)
        return error.exit_code
    except KeyboardInterrupt:
        progress.print("demo: interrupted")
        return 130
    return 0


def fill(home: Path) -> None:
    """The sample world in a graph of its own, and every dataset of it in a lake: one run over all days."""
    with step("starting the embedded graph"):
        from resources.graph.admin import GraphAdmin
        from resources.graph.open import GraphSettings, graph_server
        from sample.load import load_world
        from sample.world import part_count

        running = ExitStack()
        server = running.enter_context(graph_server(GraphSettings(root=home / "graph")))
    with running:
        with step("loading the sample world", of=part_count()) as tick, GraphAdmin(server) as admin:
            loaded = load_world(admin, progress=lambda done, _total, name: tick(done, name))
        say(f"{loaded.nodes:,} nodes and {loaded.edges:,} edges")
