"""`pitlake sync`: fills a lake from outside sources and keeps it up to date.

pipelines.sync decides the requests and their order.
"""

import os
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import click

from pitlake import notify
from pitlake.cli import render
from pitlake.cli.options import lake_option
from pitlake.errors import BadInput

FIRST_YEAR = 1993
SECOND_CHECK = "great_expectations"
NOTIFY = "PITLAKE_NOTIFY"
HEADERS = ("none", "earnings", "undecided", "all")


@click.command("sync")
@click.option("--tickers", metavar="A,B", help="Companies to watch from now on, by ticker.")
@click.option("--ciks", metavar="A,B", help="Companies to watch from now on, by CIK.")
@click.option("--series", metavar="A,B", help="FRED series to watch from now on.")
@click.option("--all", "everything", is_flag=True, help="Load every company of the bulk files named by --from.")
@click.option("--from", "files", metavar="A,B", help="EDGAR's companyfacts.zip and submissions.zip, as paths.")
@click.option("--prices", metavar="FILE", help="Your own daily bars, CSV or Parquet; needs --split-basis.")
@click.option(
    "--split-basis",
    type=click.Choice(("traded", "adjusted")),
    help="Whether the prices are as traded, or adjusted for later splits, which is refused.",
)
@click.option("--since", metavar="DAY", help="First day of filings and facts to load: 2015 or 2015-06-30.")
@click.option("--sources", metavar="A,B", help="Use only these sources [default: all that are configured].")
@click.option(
    "--headers",
    type=click.Choice(HEADERS),
    default="none",
    show_default=True,
    help="Filings whose EDGAR header is fetched too, which dates them to the second; one request each.",
)
@click.option(
    "--allow-drift",
    metavar="REASON",
    default="",
    help="Publish answers that differ from the lake more than the contracts allow; the lake's log records the reason.",
)
@lake_option
def command(
    everything: bool, headers: str, split_basis: str | None, allow_drift: str, lake: str | None, **texts: str | None
) -> None:
    """Fill a lake from outside sources and keep it up to date.

    \b
    export SEC_EDGAR_USER_AGENT="Jane Doe jane@example.com"
    pitlake sync --tickers AAPL,MSFT,NVDA --since 2015
    pitlake sync --all --from companyfacts.zip,submissions.zip
    pitlake sync

    The lake stores its watch list. Without options, a sync fetches the new data of this list. A stopped sync continues
    where it stopped. A source with a key is used if its variable is set. The plan lists the skipped sources.
    """
    lists = {name: _split(texts[name]) for name in ("tickers", "ciks", "series", "sources")}
    since, paths = _day(texts["since"]), tuple(map(Path, _split(texts["files"])))
    if everything != bool(paths):
        raise BadInput("--all", "goes with --from", "give both: --all --from companyfacts.zip,submissions.zip")
    if texts["prices"] is not None and split_basis is None:
        raise BadInput("--split-basis", "is missing", "say --split-basis traded if the prices are as they were traded")
    if texts["prices"] is not None and split_basis == "adjusted":
        problem = "adjusted prices depend on later splits, so they can't be shown as of a past instant"
        raise BadInput("--split-basis", problem, "export the prices as traded, and give --split-basis traded")
    prices = None if texts["prices"] is None else Path(texts["prices"])
    if find_spec(SECOND_CHECK) is None:  # Otherwise, publishing would fail after all requests.
        raise ModuleNotFoundError(name=SECOND_CHECK)
    from pipelines.sync.run import Asked, sync, version
    from pitlake.lake.lake import Lake

    choice = Asked(**lists, archives=paths, prices=prices, since=since, headers=headers)
    target = Lake(lake, allow_drift=allow_drift)
    target.settle()
    try:
        done = sync(target, choice, render.say)
    except KeyboardInterrupt:
        render.say("stopped; the same command continues")
        raise
    rows = [
        (name, *(str(counts[column]) for column in ("rows", "unchanged", "gaps")))
        for name, counts in done.counts.items()
    ]
    render.deliver(render.grid(("dataset", "rows", "unchanged", "gaps"), rows), None)
    for name, reasons in done.reasons.items():
        for reason, count in reasons.most_common():
            render.say(f"{name}: {count} × {reason}")
    for line in done.failures:
        render.say(line)
    render.say(f"{target.location} is at version {version(target)}; `pitlake web` shows it")
    if failures := [*done.refused.values(), *done.failures]:
        if channels := os.environ.get(NOTIFY):  # The terminal may be unattended.
            notify.send(channels, f"pitlake: {len(failures)} failures of a sync", "\n".join(failures), NOTIFY)
        raise click.exceptions.Exit(1)


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in (text or "").split(",") if part.strip()))


def _day(text: str | None) -> date | None:
    """Parse the day of --since; for a year its first day. Raises BadInput."""
    if text is None:
        return None
    try:
        day = date.fromisoformat(f"{text}-01-01" if text.isdigit() and len(text) == len("2015") else text)
    except ValueError:
        raise BadInput(
            "--since", f"{text!r} is neither a year nor a day", "give a year or day such as 2015 or 2015-06-30"
        ) from None
    if not date(FIRST_YEAR, 1, 1) <= day <= date.today():  # noqa: DTZ011 - a day more or less does not matter
        raise BadInput("--since", f"{text} is out of range", f"give a day from {FIRST_YEAR} to today")
    return day
