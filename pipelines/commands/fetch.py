"""`pitlake fetch --source S [--pit T] …`: queries one outside source as of an instant. Writes only the envelope to
stdout.

Every failure becomes a gap, and the exit code is 0, so that stdout always has {data, gaps}. Work that exceeds the time
limit is abandoned. Implemented in pipelines.fetch.
"""

import json
import os
import sys
import threading
from typing import Any

import click

from pitlake.cli import render
from pitlake.cli.options import lake_option

Answered = tuple[dict[str, Any], dict[str, Any]]
OWN_SECONDS = 90.0  # The time needed to start, publish and query the lake on a busy machine.
LIVE_VARIABLE = "PITLAKE_FETCH_LIVE"
FLAGS = {
    "source": "Which source: benzinga, perplexity, alphavantage, yahoo, polygon, earningscall, alfred, sec_full_text.",
    "pit": "The cut-off instant, with its offset; an unreadable one returns a gap bad_input [default: open mode].",
    "known-by": "Use the lake as it was at this instant, and fetch nothing [default: the lake as it is now].",
    "op": "Operation: search, ask, reason, research, earnings, estimates, calendar, upgrades, …",
    "symbol": "Ticker, or series of ALFRED.",
    "tickers": "Comma-separated list.",
    "channels": "Comma-separated list.",
    "tags": "Comma-separated list.",
    "keywords": "Words to search in texts and labels, separated by commas.",
    "themes": "Themes, separated by commas: macro, oil, or any other word.",
    "date-from": "First New York day.",
    "date-to": "Last New York day.",
    "updated-since": "Unix seconds.",
    "lookback-minutes": "Minutes to look back if no dates are given [default: 1440].",
    "limit": "Maximum number of items, after filtering [default: 50].",
    "max-pages": "Maximum number of pages [default: 10].",
    "timeout": "Seconds the source may take in all, including pages and retries [default: 20].",
    "input-file": "A file with the source's answer; no request is sent then.",
    "horizon": "3month, 6month or 12month.",
    "max-results": "Maximum number of search results [default: 10].",
    "search-recency": "hour, day, week, month or year.",
    "search-domains": "Hosts, separated by commas; a - before a host excludes it.",
    "search-mode": "web, academic or sec.",
    "search-context-size": "low, medium or high.",
    "response-format": "A JSON schema for the text of a chat answer, which stays prose.",
    "max-tokens": "Maximum number of tokens of a chat answer.",
    "max-tokens-per-page": "Maximum number of tokens of a page in a search.",
    "quarters": "Fiscal quarters of transcripts and slides, such as 2024Q1,2024Q2.",
    "forms": "EDGAR forms to limit a full-text search to, separated by commas.",
    "ciks": "Companies to limit it to, separated by commas.",
    "headers": "all: fetch the header of every filing found, which dates filings that are not in the lake.",
}


def flags(command: Any) -> Any:
    """Declare every flag as plain text, because the envelope and not the parser reports errors."""
    command = click.option("--query", multiple=True, metavar="TEXT", help="A question; may be repeated.")(command)
    command = click.option("--live", is_flag=True, help=f"Allow the network; so does {LIVE_VARIABLE}=1.")(command)
    for name, text in reversed(FLAGS.items()):
        command = click.option(f"--{name}", metavar="TEXT", help=text)(command)
    return command


class Forgiving(click.Command):
    """A command that accepts invalid command lines too, as `fault`, and answers them with an envelope."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the parameters, or store the error as the parameter `fault`."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as fault:
            ctx.params = {"fault": fault.format_message()}
            return []


@click.command("fetch", cls=Forgiving, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@flags
@lake_option
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def command(lake: str | None = None, words: tuple[str, ...] = (), fault: str = "", **options: Any) -> None:
    """Query one outside source as of an instant.

    \b
    pitlake fetch --source benzinga --pit 2024-02-15T16:00:00-05:00 --tickers QBG --date-from 2024-02-01
    pitlake fetch --source alphavantage --pit 2024-02-15T16:00:00-05:00 earnings symbol=AAPL

    The answer is the {data, gaps} envelope. Lake and captures answer first. The network is used only with --live, and
    its answers are kept in the lake.
    """
    metadata: dict[str, Any] = {}
    if fault:
        payload = {"data": [], "gaps": [_gap(fault, "bad_input")]}
    else:  # The time limits of the source and of this command apply.
        answers: list[Answered] = []
        asking = threading.Thread(target=lambda: answers.append(_answered(lake, words, options)), daemon=True)
        asking.start()
        asking.join(_patience(options) + OWN_SECONDS)
        if answers:
            payload, metadata = answers[0]
        else:
            payload = {"data": [], "gaps": [_gap("the question took too long and was stopped")]}
            metadata = {"given_up": True}
    from pitlake.answers.envelope import to_json

    render.deliver(to_json(payload).encode() + b"\n", None)
    click.echo(json.dumps(metadata, ensure_ascii=False, sort_keys=True, default=str), err=True)
    if "given_up" in metadata:
        sys.stdout.flush()
        os._exit(0)  # The abandoned thread may never end. Its answer is not published.


def _patience(options: dict[str, Any]) -> float:
    from pipelines.fetch.asking import DEFAULT_TIMEOUT, patience

    try:
        return patience(str(options.get("source") or "").lower(), float(options.get("timeout") or DEFAULT_TIMEOUT))
    except ValueError:
        return DEFAULT_TIMEOUT


def _answered(lake: str | None, words: tuple[str, ...], options: dict[str, Any]) -> Answered:
    """Return the answer, or an envelope without data after any failure."""
    options["query"] = list(options["query"])
    options["live"] = options["live"] or os.environ.get(LIVE_VARIABLE, "").strip() == "1"
    try:
        from pipelines.fetch.answering import answer
        from pitlake.lake.lake import Lake

        return answer(options, words, Lake(lake))
    except Exception as problem:  # noqa: BLE001  Stdout always gets an envelope; only the error's type is shown.
        kind = type(problem).__name__
        return {"data": [], "gaps": [_gap(f"the command failed ({kind})")]}, {"failed": kind}


def _gap(reason: str, kind: str = "upstream_error") -> dict[str, str]:
    return {"type": kind, "reason": reason}
