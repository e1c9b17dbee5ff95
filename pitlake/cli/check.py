"""`pitlake check FILE.py::FUNCTION --from T1 --to T2`: does the function look ahead?"""

from pathlib import Path

import click

from pitlake.cli import FAILED, render
from pitlake.cli.options import format_option, lake_option, output_option, version_option
from pitlake.cli.sessions import working


@click.command("check")
@click.argument("function")
@click.option("--from", "since", metavar="T", required=True, help="First instant of the check; a date means its end.")
@click.option("--to", "until", metavar="T", required=True, help="Last time of the check.")
@click.option(
    "--every",
    type=click.Choice(("hour", "day", "week", "month")),
    default="day",
    show_default=True,
    help="Interval between the times.",
)
@click.option("--trials", type=int, default=10, show_default=True, metavar="N", help="Number of times to try.")
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    metavar="NAME",
    help="Use only this dataset; repeatable [default: all].",
)
@click.option(
    "--time", metavar="COLUMN", help="The column that dates the rows [default: an index of dates, or `date`]."
)
@click.option(
    "--allow", multiple=True, type=click.Path(path_type=Path), help="A file that the function may read; repeatable."
)
@lake_option
@version_option
@format_option(("table", "json"))
@output_option
@click.pass_context
def command(context: click.Context, /, function: str, form: str, output: Path | None, **options: object) -> None:
    """Check whether a function's answers depend on later rows.

    FUNCTION is FILE.py::NAME and takes a session, or a session and an instant. The check runs it on the lake, on lakes
    that end at an instant, on lakes with a different future, and with rows published late. If a past answer changes,
    the command reports the cause and exits with code 1. A check that finds nothing is not a proof.
    """
    from pitlake.check import check

    render.check_target(form, output)
    datasets = options.pop("datasets")
    with working("checking") as progress:
        report = check(function, datasets=datasets or None, progress=progress, **options)  # type: ignore[arg-type]
    if form == "json":
        render.deliver(render.to_json(report.to_dict()), output)
    else:
        lines = [render.printable(str(finding)) for finding in report.findings]
        render.deliver("".join(f"{line}\n" for line in lines).encode(), output)
    for reason, count in report.skipped.items():
        render.say(f"not compared, {count} times: {render.printable(reason)}")
    render.say(str(report))
    if report.findings:
        context.exit(FAILED)
