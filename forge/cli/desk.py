"""The PM's commands: `pitlake forge approvals | approve | reject | views | expressions | portfolio | rebuild`."""

import getpass
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import click

from forge.cli.memories import own_desk
from pitlake.cli.options import format_option

if TYPE_CHECKING:
    from forge.memory import Memory
    from forge.memory.approvals import Pending
    from forge.providers.base import At
    from forge.records import Record


class _Day(click.DateTime):
    """A calendar date."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not a calendar date; write dates as YYYY-MM-DD, such as 2024-06-28", param, ctx)


DAY = _Day(["%Y-%m-%d"])
COLUMNS = ("expression", "notional")
LIST_WAITING = "list the waiting items: pitlake forge approvals"
lake_option = click.option(
    "--lake", metavar="ROOT", help="Folder or URL of the market's lake [default: $PITLAKE_LAKE, else ./.pitlake/lake]."
)

by_option = click.option(
    "--by", metavar="NAME", help="Who decides, one of [approvers] users [default: your user name]."
)


@click.command()
@format_option(("text", "json"), "list")
@lake_option
def approvals(form: str, lake: str | None) -> None:
    """List what is waiting for your approval.

    Expressions and lessons, each with its hash, and the risk that code computes from the market's bars.
    """
    from forge.memory.approvals import pending
    from forge.memory.lessons import waiting_lessons
    from forge.records import render
    from forge.tracking.risk import risk

    own = own_desk()
    memory = own.memory()
    market = market_of(lake, memory)
    waiting = pending(memory, own.guardrails(market, memory))
    risks = {item.expression.id: risk(item.expression, memory.hydrate_now(), market) for item in waiting}
    if form == "json":
        entries = [
            {
                "id": item.expression.id,
                "sha256": item.sha256,
                "review": item.review.verdict if item.review else None,
                "problems": list(item.problems),
                "approved_by": list(item.approved_by),
                "figures": [asdict(figure) | {"basis": figure.basis} for figure in item.figures],
                "book": [line._asdict() for line in item.book],
                "risk": asdict(risks[item.expression.id]),
                "text": render(item.expression),
            }
            for item in waiting
        ]
        click.echo(json.dumps(entries, ensure_ascii=False))
        return
    lessons = waiting_lessons(memory)
    for item in waiting:
        first = f"approved by {', '.join(item.approved_by)}; a second person must approve\n" if item.approved_by else ""
        review = f"{item.review.verdict} ({item.review.id})" if item.review else "this content has no review"
        click.echo(f"{indent(render(item.expression), '  ')}\nreview: {review}\nhash: {item.sha256}")
        click.echo("\n".join(_effects(item)))
        for line in risks[item.expression.id].lines():
            click.echo(f"risk, computed: {line}")
        for gap in risks[item.expression.id].gaps:
            click.echo(f"risk, not computed: {gap}")
        ready = "ready to approve, if you --confirm what is only claimed\n" if item.claims else "ready to approve\n"
        click.echo(first + ("".join(f"problem: {problem}\n" for problem in item.problems) or ready))
    for lesson in lessons:
        click.echo(
            f"{indent(render(lesson.record), '  ')}\nhash: {lesson.sha256}\na lesson written by {lesson.author}\n"
        )
    if not waiting and not lessons:
        click.echo("Nothing is waiting for approval.")


def _effects(item: "Pending") -> list[str]:
    """Return one line per limit, and one per total of the book with its values before and after the approval."""
    return [*(f"limit: {figure}" for figure in item.figures), *(f"book: {line}" for line in item.book)]


@click.command()
@click.argument("name", metavar="ID")
@lake_option
@click.option(
    "--hash",
    "sha256",
    metavar="HASH",
    help="Hash of the text you approve, or its first 8 characters [default: show the text and ask].",
)
@by_option
@click.option("--confirm", is_flag=True, help="Confirm the figures that the Expression claims and code can't compute.")
def approve(name: str, sha256: str | None, lake: str | None, by: str | None, confirm: bool) -> None:
    """Approve an Expression or a lesson, exactly as it is shown."""
    from forge.memory import approvals as door
    from forge.memory import lessons
    from forge.records import render
    from pitlake.errors import BadInput

    own = own_desk()
    memory = own.memory()
    limits = own.guardrails(market_of(lake, memory), memory)
    if sha256:
        typed = sha256
    else:
        texts: dict[str, tuple[Record, str, list[str]]] = {
            item.expression.id: (item.expression, item.sha256, _effects(item)) for item in door.pending(memory, limits)
        }
        texts |= {item.record.id: (item.record, item.sha256, []) for item in lessons.waiting_lessons(memory)}
        if name not in texts:
            raise BadInput("id", f"{name[:40]} does not wait for approval", LIST_WAITING)
        record, whole_hash, effects = texts[name]
        if not sys.stdin.isatty():
            raise BadInput("--hash", "is missing", f"read the text of {name}, then give --hash {whole_hash[:12]}")
        click.echo("\n".join([indent(render(record), "  "), *effects, f"hash: {whole_hash}"]), err=True)
        prompt = "Type the first 8 characters of the hash to approve exactly this"
        typed = str(click.prompt(prompt, err=True)).strip()
    user, last = by or getpass.getuser(), True
    if name.startswith("PK-"):
        lessons.decide(memory, name, typed, user)
    else:
        approvers = own.config.approvers
        last = door.approve(memory, name, typed, user, limits, confirmed=confirm, approvers=approvers)
    memory.flush()
    click.echo(
        f"{name} is approved: {typed}" if last else f"{user} approved {name}; a second person must approve it: {typed}"
    )


@click.command()
@click.argument("name", metavar="ID")
@click.option("--reason", required=True, help="The reason, which is stored with the Counterfactual.")
@by_option
def reject(name: str, reason: str, by: str | None) -> None:
    """Reject an Expression or a lesson.

    A rejected Expression is tracked as a Counterfactual.
    """
    from forge.memory import approvals as door
    from forge.memory import lessons
    from forge.records.base import read_reason
    from pitlake.errors import BadInput

    own, user = own_desk(), by or getpass.getuser()
    memory = own.memory()
    if name.startswith("PK-"):
        waiting = {lesson.record.id: lesson.sha256 for lesson in lessons.waiting_lessons(memory)}
        if name not in waiting:
            raise BadInput("id", f"{name[:40]} does not wait for approval", LIST_WAITING)
        lessons.decide(memory, name, waiting[name], user, read_reason(reason))
    else:
        door.reject(memory, name, reason, user, own.guardrails(market_of(None, memory), memory), own.config.approvers)
    memory.flush()
    click.echo(f"{name} is rejected")


def _listing(kind: str) -> click.Command:
    @click.command(kind, help=f"List the {kind}. QUERY limits them: key:value, key>=N, since:date.")
    @click.argument("query", required=False)
    def listing(query: str | None) -> None:
        from forge.fs import ReadFS

        for entry in ReadFS(own_desk().memory().hydrate_now()).list_dir(f"/memory/{kind}/", query):
            click.echo(f"{entry.name.removesuffix('.md')}  {entry.meta}")

    return listing


views, expressions = _listing("views"), _listing("expressions")


@click.group()
def portfolio() -> None:
    """Manage the book of positions."""


@portfolio.command("import")
@click.argument("positions", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def import_(positions: Path) -> None:
    """Replace the book with the positions of a CSV file.

    Its columns: expression, notional, and one for each factor, all in percent of capital.
    """
    from forge.core.csv_files import read_csv, read_number
    from forge.memory.book import PORTFOLIO
    from forge.memory.effects import PM
    from forge.memory.fills import fills as booked_fills
    from forge.records import Portfolio, Position, render
    from pitlake.errors import BadInput

    own = own_desk()
    memory = own.memory()
    fs = own.files(memory, memory.hydrate_now(), PM)
    if booked_fills(fs.remembered):
        raise BadInput("positions", "the book follows your fills", "import fills instead: pitlake forge fills import")
    names, lines = read_csv("positions", positions, COLUMNS)
    factors = [name for name in names if name not in (*COLUMNS, "loss")]
    lines_of_book = []
    for line in lines:
        shares = {name: read_number("positions", line, name, blank=0.0) for name in factors}
        loss = abs(read_number("positions", line, "loss")) if line[1].get("loss") else None
        notional, name = read_number("positions", line, "notional"), line[1]["expression"]
        lines_of_book.append(Position(expression=name, notional=notional, factor_exposures=shares, loss=loss))
    gross, net = sum(abs(each.notional) for each in lines_of_book), sum(each.notional for each in lines_of_book)
    book = Portfolio(
        id="state",
        gross=gross,
        net=net,
        positions=tuple(lines_of_book),
        factor_exposures={name: sum(each.factor_exposures[name] for each in lines_of_book) for name in factors},
        updated=fs.remembered.as_of,
    )
    fs.write_file(PORTFOLIO, render(book), call_id=f"import:{os.urandom(8).hex()}")
    memory.flush()
    click.echo(f"{len(book.positions)} positions, gross {gross:g} %, net {net:g} %")


@click.command()
def rebuild() -> None:
    """Rebuild a lost journal from the memory lake.

    Records that were never published to the lake are lost.
    """
    memory = own_desk().memory()
    rows = memory.rebuild()
    faults = memory.audit()
    click.echo(f"{rows} rows, {len(faults)} missing or wrong")


def market_of(lake: str | None, memory: "Memory") -> "At":
    """Return the market's lake as of a memory's now."""
    from forge.providers.base import At
    from pitlake.lake.lake import Lake

    return At(as_of=memory.journal.clock.now(), lake=Lake(lake).root)


COMMANDS = (approvals, approve, reject, views, expressions, portfolio, rebuild)
