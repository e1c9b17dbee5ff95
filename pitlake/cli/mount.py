"""`pitlake mount TABLE --name NAME`: a user's own table as a dataset of the lake."""

from typing import TYPE_CHECKING, Any

import click

from pitlake.cli import render
from pitlake.cli.options import flag, format_option, lake_option
from pitlake.cli.sessions import working
from pitlake.errors import BadInput

if TYPE_CHECKING:
    from pitlake.lake.mounting.mount import Mounted

OPTIONS = frozenset({"name", "key", "available_at", "valid_at", "timezone", "lag", "partial"})


@click.command("mount")
@lake_option
@click.argument("table", metavar="TABLE")
@click.option("--name", required=True, help="Name of the dataset.")
@click.option("--key", metavar="COLUMNS", help="Columns that identify what a row is about, separated by commas.")
@click.option(
    "--available-at",
    metavar="COLUMN",
    help="Column with the time a row became known [default: none, rows are known from now on].",
)
@click.option("--valid-at", metavar="COLUMN", help="Column with the business date of a row.")
@click.option(
    "--timezone",
    metavar="ZONE",
    help="Zone of timestamps without one, and of dates, which count at their end [default: dates are New York's].",
)
@click.option("--lag", metavar="TIME", help='Delay after which a row became known, such as "1 day" [default: none].')
@click.option(
    "--partial",
    is_flag=True,
    default=None,
    help="The table has only a part of the data: missing rows were not deleted.",
)
@format_option(("table", "json"))
def command(table: str, lake: str | None, form: str, key: str | None, **options: Any) -> None:
    """Make your own table a dataset of the lake.

    TABLE is a Parquet, CSV or JSON lines file, or a quoted pattern of such files. Columns and types are found and kept
    as a contract in the lake. Mount a table again to take in what has changed since: only --name is needed then.

    \b
    pitlake mount estimates.parquet --name estimates --available-at published_at --key ticker,period
    """
    from pitlake.lake.lake import Lake

    columns = None if key is None else [column.strip() for column in key.split(",")]
    try:
        with working("mounting"):
            done = Lake(lake).mount(table, key=columns, **options)
    except BadInput as error:
        if error.field not in OPTIONS:
            raise
        raise BadInput(flag(error.field), error.problem, error.next_step) from None
    if form == "json":
        render.deliver(render.to_json([_facts(done)]), None)
        return
    rows = [
        (mounted.column.name, mounted.column.type, mounted.source, _role(done, mounted.column.name))
        for mounted in done.mount.columns
    ]
    render.deliver(render.grid(("column", "type", "in the table", "role"), rows), None)
    for line in _sentences(done):
        render.say(line)


def _facts(done: "Mounted") -> dict[str, Any]:
    names = ("version", "rows", "published", "unchanged", "revisions", "gaps", "deleted", "left_out")
    return {
        "name": done.mount.name,
        "columns": {mounted.column.name: mounted.column.type for mounted in done.mount.columns},
    } | {name: getattr(done, name) for name in names}


def _role(done: "Mounted", column: str) -> str:
    mount = done.mount
    roles = [("key", column in mount.key), ("known since", column == mount.available_at)]
    return ", ".join(role for role, has in (*roles, ("valid at", column == mount.valid_at)) if has)


def _sentences(done: "Mounted") -> list[str]:
    name, gaps = done.mount.name, sum(done.gaps.values())
    read, missing = render.count(done.rows, "row"), render.count(gaps, "gap")
    counts = f"{read} read, {done.published:,} new, {done.unchanged:,} unchanged, {missing}"
    lines = [f"{name}: {counts}; version {done.version}"]
    if not done.mount.available_at:
        lines.append(f"{name} does not say when its rows became known, so each is known from its first mount on")
    if done.revisions:
        revisions = render.count(done.revisions, "new row")
        lines.append(f"{revisions}: missing or different at an earlier mount, so known from this mount on")
    lines += [f"{render.count(rows, 'gap')}: {reason}" for reason, rows in done.gaps.items()]
    if done.deleted:
        deleted = render.count(done.deleted, "row")
        lines.append(f"{deleted} gone from the table since an earlier mount: kept in the lake, and recorded as gaps")
    if done.left_out:
        lines.append(f"left out, since the contract does not list them: {', '.join(done.left_out)}")
    if done.is_new:
        lines.append(f"the contract is _lake/mounts/{name}.toml in the lake; edit titles, meanings and units there")
    return lines
