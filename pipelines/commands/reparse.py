"""`pitlake reparse RUN DATASET`: parses an outside run again from its captures with today's code, and shows the
differences.

It reads captures and the lake, and fetches and publishes nothing. Implemented in assets.feeds.reparse.
"""

import click

from pitlake.cli import render
from pitlake.cli.options import format_option, lake_option


@click.command("reparse")
@click.argument("run", required=False)
@click.argument("dataset", required=False)
@lake_option
@format_option(("table", "json"))
def command(run: str | None, dataset: str | None, lake: str | None, form: str) -> None:
    """Parse captures of a run again and show what differs.

    The result is compared with the lake. Without a run, list the runs that have captures.
    """
    from assets.external import feed
    from assets.feeds.reparse import reparse
    from pitlake.errors import BadInput
    from pitlake.lake.lake import Lake
    from resources.http.capture import CaptureStore

    target = Lake(lake)
    store = CaptureStore.of(target.location)
    if run is None:
        head, runs = ("run", "dataset"), store.runs()
        if form == "json":
            render.deliver(render.to_json([dict(zip(head, names, strict=True)) for names in runs]), None)
        else:
            render.deliver(render.grid(head, runs), None)
        return
    if dataset is None:
        left = [name for of, name in store.runs() if of == run]
        if not left:
            raise BadInput(
                "run", f"{run!r} left no captures here", "`pitlake reparse` without a run lists the runs with captures"
            )
        raise BadInput("dataset", "is missing", f"name one of {', '.join(left)}")
    counts = vars(reparse(feed(dataset), run, target, store))
    if form == "json":
        render.deliver(render.to_json([counts]), None)
        return
    examples = counts.pop("examples")
    render.deliver(render.grid(("outcome", "records"), [(name, str(count)) for name, count in counts.items()]), None)
    for line in examples:
        render.say(line)
