"""The demo: asks a question about public figures, takes the sample world through every step, makes a decision, and asks
four more questions whose answers differ between two instants.

`python -m sample.demo` starts the embedded graph, loads the world, unpacks captures of the outside sources, fills all
datasets (the last month in one Dagster run, datasets built per release in another), decides and asks. It owns
`.pitlake/demo` and recreates it each time. Progress goes to stderr, findings to stdout.
"""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rich.console import Console

from assets.graph import all_extractors
from assets.order import in_order
from assets.runs import attempt_partitions
from checks.expectations import expected
from forge.demo import play
from local_servers.server import GraphServer
from pipelines.demo import story
from pipelines.demo.lake import built
from pipelines.earnings import BUNDLES, one_run, tags
from pipelines.partitions import EARNINGS_SET
from pipelines.serve import FAST_EVENTS
from pitlake.datasets import all_datasets
from pitlake.errors import CheckFailed, PitlakeError
from pitlake.lake.lake import Lake
from resources.graph.graph import Graph
from resources.graph.open import GraphSettings, graph_server
from sample import month, outside
from sample.calendar import FIRST_DAY, LAST_DAY
from sample.graph_admin import GraphAdmin
from sample.load import load_world
from sample.manifest import DEMO_QUESTION, DEMO_RESTATEMENT, Demonstration
from sample.progress import Tick, finished, step
from sample.world import part_count

if TYPE_CHECKING:
    import dagster as dg

HOME = Path(".pitlake") / "demo"
SETTINGS = Path(__file__).resolve().parents[1] / "dagster.yaml"
RECORDED_FROM = date(2025, 6, 1)
"""The first day of Dagster's run. Dagster on SQLite takes 20 milliseconds for each day and dataset, so earlier days are
published without it.
"""
TOLD = "QBG"
WEB = "http://127.0.0.1:8765/at?as_of=2010-01-26T14%3A30%3A00Z&ticker=AAPL"
"""The address at which `make web` shows this lake's time machine."""
QUIET = {"loggers": {"console": {"config": {"log_level": "ERROR"}}}}
WIDTH = 110

out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else WIDTH)


def main() -> int:
    """Run the demo and return its exit code."""
    started = time.monotonic()
    home = HOME.absolute()
    try:
        shutil.rmtree(home, ignore_errors=True)
        out.print(story.answers(built(home / "public", finished), finished))
        fill(home)
        lake = Lake(home / "lake")
        decision = play(home, lake, partial(out.print, markup=False, highlight=False, soft_wrap=True))
        with step("playing a month on the desk"):
            month.play(home, lake)
        out.print("\nThese companies and their figures are invented; the readings of GDP are real.")
        for demonstration in (DEMO_QUESTION, DEMO_RESTATEMENT, *outside.QUESTIONS[1:]):
            show(lake, demonstration)
    except PitlakeError as error:
        print(f"demo: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("demo: interrupted", file=sys.stderr)
        return 130
    show_next_steps(home, decision)
    finished(f"the demo took {time.monotonic() - started:.0f} s")
    return 0


def fill(home: Path) -> None:
    """Load the sample world into a new graph, and all its datasets into a lake, using Dagster for the last days."""
    with ExitStack() as running:
        with step("starting the embedded graph"):
            server = running.enter_context(graph_server(GraphSettings(root=home / "graph")))
        with step("loading the sample world", of=part_count()) as tick, GraphAdmin(server) as admin:
            loaded = load_world(admin, progress=lambda done, _of, last: tick(done, last))
        finished(f"{loaded.nodes:,} nodes, {loaded.edges:,} edges")
        lake = Lake(home / "lake")
        lake.end_at(outside.FETCHED_AT)
        with step("unpacking captures of the outside sources"):
            outside.unpack(lake)
        first, last = RECORDED_FROM.isoformat(), LAST_DAY.isoformat()
        with step(f"publishing the graph's days before {first}", of=len(all_extractors())) as tick:
            publish_history(server, lake, tick)
        with step("starting Dagster"):
            job, instance = wiring(server, home)
        with step(f"publishing every dataset, {first} to {last}, in one run", of=len(chosen())) as tick:
            publish(job, instance, tick, chosen(), tags(first, last), outside.run_config())
        releases = instance.get_dynamic_partitions(EARNINGS_SET)
        pinned_keys = [key for key in releases if key.endswith(f"|{TOLD}")]
        with step(f"building snapshots around {len(pinned_keys)} of {len(releases)} releases", of=len(BUNDLES)) as tick:
            request = one_run(instance, pinned_keys)
            publish(job, instance, tick, BUNDLES, request["tags"], request["run_config"].get("ops", {}))


def chosen() -> list[str]:
    """Return the datasets that one run over some days fills: all except those built per release."""
    return [name for name in all_datasets() if name not in BUNDLES]


def publish_history(server: GraphServer, lake: Lake, tick: Tick) -> None:
    """Publish the days before Dagster's run. Raises PitlakeError if a check refuses a dataset."""
    days = [FIRST_DAY + timedelta(days=number) for number in range((RECORDED_FROM - FIRST_DAY).days)]
    with Graph(server.uri, server.reader_auth, server.database) as graph:
        for number, name in enumerate(in_order(all_extractors()), 1):
            extractor = all_extractors()[name]
            report = attempt_partitions(extractor, days, graph, lake, run_id=str(uuid4()), audits=(expected,))
            if isinstance(report.outcome, CheckFailed):
                raise report.outcome
            tick(number, name)


def wiring(server: GraphServer, home: Path) -> tuple["dg.JobDefinition", "dg.DagsterInstance"]:
    """Return Dagster's job of all assets, with server and lake, and an instance that shows the run in the UI."""
    import dagster as dg

    from pipelines.definitions import build_definitions
    from resources.graph.resource import GraphResource
    from resources.lake import LakeResource

    user, password = server.reader_auth or ("", "")
    graph = GraphResource(uri=server.uri, username=user, password=password, database=server.database)
    definitions = build_definitions(resources={"graph": graph, "lake": LakeResource(root=str(home / "lake"))})
    (home / "dagster").mkdir(parents=True)
    shutil.copy(SETTINGS, home / "dagster")
    os.environ["DAGSTER_HOME"] = str(home / "dagster")
    return definitions.resolve_implicit_global_asset_job_def(), dg.DagsterInstance.get()


def publish(
    job: "dg.JobDefinition",
    instance: "dg.DagsterInstance",
    tick: Tick,
    names: Sequence[str],
    tags: Mapping[str, str],
    ops: Mapping[str, Any],
) -> None:
    """Run the job for these datasets and the partitions that the tags name, with the config of their ops.

    Raises PitlakeError, which names the datasets that failed and published nothing.
    """
    import dagster as dg

    run_id, done = str(uuid4()), []

    def heard(entry: "dg.EventLogEntry") -> None:
        event = entry.dagster_event
        if event is not None and event.is_step_success:
            done.append(event.step_key)
            tick(len(done), str(event.step_key))

    os.environ.update(FAST_EVENTS)
    instance.add_event_listener(run_id, heard)
    outcome = job.execute_in_process(
        run_config=QUIET | {"ops": dict(ops)},
        instance=instance,
        run_id=run_id,
        tags=dict(tags),
        asset_selection=[dg.AssetKey(name) for name in names],
        raise_on_error=False,
    )
    if not outcome.success:
        failures = [event for event in outcome.all_events if event.is_step_failure]
        errors = "; ".join(f"{event.step_key}: {event.step_failure_data.error_display_string}" for event in failures)
        raise PitlakeError(f"the run failed ({errors})")


def show(lake: Lake, demonstration: Demonstration) -> None:
    """Ask a question as of two instants. Raises PitlakeError if an answer differs from the sample's manifest."""
    out.print(f"\n{demonstration.title}", style="bold")
    expected = {demonstration.before: demonstration.answer_before, demonstration.after: demonstration.answer_after}
    for as_of, answer in expected.items():
        with story.asking(lake, as_of, finished) as session:
            value, _, teller = session.sql(demonstration.sql).rows()[0]
        text = f"{value:,}".removesuffix(".0")
        out.print(f"  as of {as_of}  {text:>18}  from {demonstration.told_by} {teller}")
        if value != answer:
            raise PitlakeError(f"the manifest of the sample world expects {answer:,} as of {as_of}")
    out.print(f"  They differ because {demonstration.because}.")


def show_next_steps(home: Path, decision: str) -> None:
    """Print the commands to try next."""
    out.print("\nAsk it yourself", style="bold")
    places = {
        "PITLAKE_LAKE": "lake",
        "FORGE_LAKE": f"forge-simulated-{month.RUN}",
        "PITLAKE_GRAPH_ROOT": "graph",
        "DAGSTER_HOME": "dagster",
    }
    settings = {name: home / folder for name, folder in places.items()}
    command = Path(sys.executable).with_name("pitlake")
    lines = [
        f"export {' '.join(f'{name}={shlex.quote(str(value))}' for name, value in settings.items())}",
        f'{command} query --as-of {DEMO_RESTATEMENT.after} "SELECT ticker, count(*) FROM reports GROUP BY ALL"',
        f"{command} datasets --as-of {DEMO_RESTATEMENT.after}",
        f"{command} forge replay {decision}",
        *(["make ui", f"make web  # opens {WEB} (the desk: /desk)"] if Path("Makefile").exists() else []),
    ]
    for line in lines:
        out.print(f"  {line}", markup=False)


if __name__ == "__main__":
    sys.exit(main())
