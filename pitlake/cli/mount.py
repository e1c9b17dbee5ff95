"""`pitlake mount TABLE --name NAME`: a user's own table as a dataset of the lake."""

import time
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import click

from pitlake.cli import render
from pitlake.cli.options import flag, format_option, lake_option
from pitlake.cli.sessions import working
from pitlake.errors import BadInput, PitlakeError
from pitlake.times import MIDNIGHTS

if TYPE_CHECKING:
    from pitlake.lake.mounting.mount import Mounted

FLAGS = {"table_name": "table"}
SETTLE_SECONDS = 1
"""How long a table must stay unchanged before it is mounted again, so that no half-written file is read."""
OPTIONS = frozenset({
    "name", "table_name", "key", "available_at", "not_before", "valid_at", "until", "time_format", "midnights",
    "timezone", "lag", "trust_dates", "partial", "most_refused",
})  # fmt: skip


@click.command("mount")
@lake_option
@click.argument("place", metavar="TABLE")
@click.option("--name", required=True, help="Name of the dataset.")
@click.option("--table", metavar="NAME", help="Table of the DuckDB file, Postgres database or Iceberg catalog.")
@click.option("--key", metavar="COLUMNS", help="Columns that identify the subject of a row, separated by commas.")
@click.option(
    "--available-at",
    metavar="COLUMN",
    help="Column with the time a row became known [default: none, rows are known from now on].",
)
@click.option(
    "--not-before",
    metavar="COLUMNS",
    help="Columns of times before which a row was not known either, such as an end or an edit, separated by commas.",
)
@click.option("--valid-at", metavar="COLUMN", help="Column with the business date of a row.")
@click.option("--until", metavar="COLUMN", help="Column with the end of a row; the end is shown only from then on.")
@click.option(
    "--time-format",
    metavar="FORMAT",
    help="Format of texts and numbers in these columns: %Y%m%d, %m/%d/%Y, another strptime format, epoch, epoch_ms, "
    "epoch_us or epoch_ns [default: ISO-8601].",
)
@click.option(
    "--midnights",
    type=click.Choice(MIDNIGHTS),
    help="Whether midnights, in a column that also has other clock times, are days (public at their end) or instants.",
)
@click.option(
    "--timezone",
    metavar="ZONE",
    help="Zone of timestamps without one, and of dates (available at their end) [default: dates are New York's].",
)
@click.option("--lag", metavar="TIME", help='Delay after which a row became known, such as "1 day" [default: none].')
@click.option(
    "--trust-dates",
    is_flag=True,
    default=None,
    help="Rows that first appear in a later mount are available from --available-at [default: from that mount].",
)
@click.option(
    "--partial",
    is_flag=True,
    default=None,
    help="The table contains only a part of the data, so missing rows were not deleted.",
)
@click.option(
    "--most-refused", metavar="SHARE", type=float, help="Largest share of rows that may become gaps [default: 0.01]."
)
@click.option("--watch", is_flag=True, help="Mount the table again whenever it changes, until Ctrl-C.")
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How often --watch checks the table.",
)
@format_option(("table", "json"))
def command(
    place: str,
    table: str | None,
    lake: str | None,
    form: str,
    key: str | None,
    not_before: str | None,
    *,
    watch: bool,
    every: int,
    **options: Any,
) -> None:
    """Make your own table a dataset of the lake.

    TABLE is a Parquet, CSV or JSON lines file, a folder or a quoted pattern of such files, a Delta or Iceberg table, a
    DuckDB file, or a URL: s3://bucket/key, postgresql://host/database or iceberg://catalog. Columns and types are
    detected and stored as a contract in the lake. To take in later changes, mount the table again; this needs only
    --name.

    \b
    pitlake mount estimates.parquet --name estimates --available-at published_at --key ticker,period
    """
    from pitlake.lake.lake import Lake
    from pitlake.lake.mounting.source import find_origin

    lists: dict[str, Any] = {
        name: None if text is None else [column.strip() for column in text.split(",")]
        for name, text in (("key", key), ("not_before", not_before))
    }
    to = Lake(lake)

    def mount() -> "Mounted":
        with working("mounting") as progress:
            return to.mount(place if table is None else (place, table), progress=progress, **lists, **options)

    def state() -> Hashable:
        return find_origin(place, table).state()

    try:
        before = state() if watch else None
        done = mount()
    except BadInput as error:
        if error.field not in OPTIONS:
            raise
        raise BadInput(flag(FLAGS.get(error.field, error.field)), error.problem, error.next_step) from None
    _show(done, form)
    if watch:
        try:
            _watch(mount, state, before, done.version, every, form)
        except KeyboardInterrupt:
            render.say(f"{done.mount.name} is no longer watched")


def _watch(
    mount: Callable[[], "Mounted"], state: Callable[[], Hashable], before: Hashable, version: int, every: int, form: str
) -> None:
    """Mount a table whenever it changed, and show what was added."""
    problem = ""
    render.say(f"watching: checks every {render.count(every, 'second')}; Ctrl-C ends it")
    while True:
        time.sleep(every)
        try:
            now = state()
            if now is not None:
                if now == before:
                    continue
                time.sleep(SETTLE_SECONDS)
                if state() != now:
                    continue
            done = mount()
        except (PitlakeError, OSError) as error:
            if str(error) != problem:
                problem = str(error)
                render.say(f"{problem}; the table is mounted once this is corrected")
            continue
        before, problem = now, ""
        if done.version != version:
            version = done.version
            _show(done, form)


def _show(done: "Mounted", form: str) -> None:
    if form == "json":
        names = ("version", "rows", "published", "unchanged", "revisions", "gaps", "deleted", "left_out", "later")
        columns = {mounted.column.name: mounted.column.type for mounted in done.mount.columns}
        facts = {"name": done.mount.name, "columns": columns} | {name: getattr(done, name) for name in names}
        render.deliver(render.to_json([facts]), None)
        return
    mount, rows = done.mount, []
    for mounted in mount.columns:
        column = mounted.column
        roles = [
            ("key", column.name in mount.key),
            ("known since", column.name == mount.available_at),
            ("not before", column.name in mount.not_before),
            ("valid at", column.name == mount.valid_at),
            ("until", column.name == mount.until),
        ]
        rows.append((column.name, column.type, mounted.source, ", ".join(role for role, applies in roles if applies)))
    if done.is_new:
        render.deliver(render.grid(("column", "type", "in the table", "role"), rows), None)
    for line in _sentences(done):
        render.say(line)


def _sentences(done: "Mounted") -> list[str]:
    name, gaps = done.mount.name, sum(done.gaps.values())
    read, missing = render.count(done.rows, "row"), render.count(gaps, "gap")
    counts = f"{read} read, {done.published:,} new, {done.unchanged:,} unchanged, {missing}"
    lines = [f"{name}: {counts}; version {done.version}"]
    if not done.mount.available_at:
        lines.append(f"{name} does not say when its rows became known, so each is known from its first mount on")
    if done.published > done.revisions and done.mount.available_at and not done.is_new:
        trusted = render.count(done.published - done.revisions, "new row")
        lines.append(f"{trusted}: known from {done.mount.available_at} on, which no earlier mount contradicts")
    if done.revisions:
        revisions = render.count(done.revisions, "new row")
        lines.append(f"{revisions}: missing or different at an earlier mount, so known from this mount on")
        if done.mount.available_at and not (done.mount.trust_dates or done.mount.partial):
            lines[-1] += (
                f"; to trust {done.mount.available_at} for missing rows, set trust_dates = true in the contract"
            )
    lines += [f"{render.count(rows, 'gap')}: {reason}" for reason, rows in done.gaps.items()]
    types = {mounted.column.name: mounted.column.type for mounted in done.mount.columns}
    for column, rows in done.later.items():
        if column == done.mount.valid_at:
            continue  # A business date may be in the future.
        of = f"{rows:,} of {render.count(done.rows, 'row')} {'has' if rows == 1 else 'have'}"
        question = "a plan or hindsight?"
        if done.is_new and done.mount.available_at and types[column] not in ("json", "strings"):
            question += f" --not-before {column} counts such a row from that day on"
        ends = "shown only from then on" if column == done.mount.until else question
        lines.append(f"{column}: {of} a day after the row became known: {ends}")
    if done.deleted:
        deleted = render.count(done.deleted, "row")
        lines.append(f"{deleted} removed from the table since an earlier mount: kept in the lake, and recorded as gaps")
    if done.left_out:
        lines.append(f"left out, since the contract does not list them: {', '.join(done.left_out)}")
    if done.is_new and (column := done.mount.available_at):
        lines.append(f"{column} is trusted; a first mount can't tell it from requested or effective dates")
    if done.is_new:
        lines.append(f"the contract is _lake/mounts/{name}.toml in the lake; edit titles, meanings and units there")
    return lines
