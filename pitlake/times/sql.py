"""SQL that reads columns of times in DuckDB, with the same meaning as `pitlake.times.read`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pitlake.errors import BadInput
from pitlake.times import (
    EPOCH_UNITS,
    FIRST_YEAR,
    ISO,
    ISO_PATTERN,
    LAST_YEAR,
    LEAST_SECONDS,
    MOST_SECONDS,
    UNSET_DAYS,
    format_width,
    has_clock,
)

DEFAULT_ZONE = "America/New_York"
_QUARTER_HOUR = 900_000_000
_ODD_OFFSETS_UNTIL = "1980-01-01"
"""Since then the offset of every zone is a multiple of 15 minutes."""


@dataclass(frozen=True)
class ColumnForm:
    """The format of the times in a column of DuckDB.

    kind: DuckDB's type. form: the form of texts and numbers. zone: as for `read`, "" for none. own_zone: the zone of a
    TIMESTAMPTZ, which DuckDB does not keep. has_unset: whether values that programs write for a missing time count
    as missing.
    """

    kind: str
    form: str = ISO
    zone: str = ""
    own_zone: str = ""
    has_unset: bool = True


def part(name: str, column: str) -> str:
    """Return SQL for a part that `in_sql` adds for a column."""
    return _name(f"{name} of {column}")


def in_sql(rows: str, columns: Mapping[str, ColumnForm], names: Iterable[str] = ()) -> str:
    """Return SQL for rows with the times of these columns, as `read` reads them. rows: a FROM clause. names: those of
    all its columns.

    For each column, it adds `instant`, `day`, `end` and `has_clock` of a `Reading`, null for unreadable values, and
    `is_unset` and `lacks_zone`.

    Each step is a separate query, so that no expression is evaluated twice. Raises BadInput if a column has the name
    of a part: its values would be read in place of the part.
    """
    # DuckDB's names ignore case.
    existing = {_name(name).lower(): name for name in names}
    for step in (_shaped, _stated, _dated, _checked, _cleaned, _placed, _walls, _midnights, _settled):
        parts = {part(name, column): sql for column, form in columns.items() for name, sql in step(column, form)}
        if ambiguous := [existing[name.lower()] for name in parts if name.lower() in existing]:
            problem = f"it has a column {ambiguous[0]!r}, a name that is used while its times are read"
            raise BadInput("the table", problem, "rename the column")
        if parts:
            rows = f"(SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in parts.items())} FROM {rows})"
    return rows


_Parts = list[tuple[str, str]]


def _shaped(column: str, spelled: ColumnForm) -> _Parts:
    if spelled.kind != "VARCHAR" or spelled.form != ISO:
        return []
    shape = f"regexp_extract(trim({_name(column)}), '^{ISO_PATTERN}$', ['day', 'clock', 'seconds', 'fraction', 'zone'])"
    return [("shape", shape)]


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _stated(column: str, spelled: ColumnForm) -> _Parts:
    """Return SQL for what a column states: a day, or a clock time on its own clock, as an instant, or both."""
    name, kind, form = _name(column), spelled.kind, spelled.form
    day, wall, own, finer = "NULL::DATE", "NULL::TIMESTAMP", "NULL::TIMESTAMPTZ", "false"
    if kind == "DATE":
        day = name
    elif kind.startswith("TIMESTAMP"):
        whole = f"{name}::{kind.removesuffix('_NS')}" if kind.endswith("_NS") else name
        finer = f"epoch_ns({name}) % 1000 > 0" if kind.endswith("_NS") else finer
        has_zone = kind.startswith("TIMESTAMPTZ") or kind.endswith("ZONE")
        wall, own = (wall, f"{whole}::TIMESTAMPTZ") if has_zone else (f"{whole}::TIMESTAMP", own)
    elif form in EPOCH_UNITS:
        unit = EPOCH_UNITS[form]
        if unit == 1:
            count = f"try_cast({name} AS BIGINT)"
            micros, finer = f"{count} // 1000", f"{count} % 1000 <> 0"
        else:
            count = f"try_cast({name} AS DECIMAL(28, 9))"
            micros = f"ceil({count} * {unit // 1000})::BIGINT"
        least, most = LEAST_SECONDS * 10**9 // unit, MOST_SECONDS * 10**9 // unit
        moment = f"CASE WHEN {count} >= {least} AND {count} < {most} THEN make_timestamptz({micros}) END"
        own = f"CASE WHEN {count} = 0 THEN TIMESTAMPTZ '1970-01-01 00:00:00+00' ELSE {moment} END"
    elif form != ISO:
        width = format_width(form)
        text = f"trim({name})"
        if kind != "VARCHAR":
            whole = f"try_cast({name} AS BIGINT)"
            digits = f"lpad({whole}::VARCHAR, greatest({width}, length({whole}::VARCHAR))::INTEGER, '0')"
            text = f"CASE WHEN {name} = {whole} THEN {digits} END"
        parsed = f"try_strptime({text}, '{form.replace(chr(39), chr(39) * 2)}')"
        moment = f"CASE WHEN length({text}) = {width} THEN {parsed} END" if width else parsed
        day, wall = (day, moment) if has_clock(form) else (f"{moment}::DATE", wall)
    elif kind == "VARCHAR":
        shape = part("shape", column)
        digits = f"substr({shape}.fraction, 1, 6)"
        seconds = f"if({shape}.seconds = '', '00', {shape}.seconds)"
        text = f"concat({shape}.day, ' ', {shape}.clock, ':', {seconds}, if({digits} = '', '', '.'), {digits})"
        offset = f"if(upper({shape}.zone) IN ('Z', 'UTC', 'GMT'), '+00', {shape}.zone)"
        day = f"CASE WHEN {shape}.clock = '' THEN try_cast({shape}.day AS DATE) END"
        wall = f"CASE WHEN {shape}.clock <> '' THEN try_cast({text} AS TIMESTAMP) END"
        own = f"CASE WHEN {shape}.zone <> '' THEN try_cast(concat({text}, {offset}) AS TIMESTAMPTZ) END"
        finer = f"regexp_matches(substr({shape}.fraction, 7), '[1-9]')"
    return [("raw_day", day), ("raw_wall", wall), ("raw_own", own), ("is_finer", finer)]


def _dated(column: str, _spelled: ColumnForm) -> _Parts:
    """Return SQL for the clock time that shows whether a value is unset, on its own clock and in UTC."""
    day, wall, own = (part(name, column) for name in ("raw_day", "raw_wall", "raw_own"))
    utc = f"make_timestamp(epoch_us(CASE WHEN isfinite({own}) THEN {own} END))"
    return [("stated", f"coalesce(try_cast({day} AS TIMESTAMP), {wall}, {utc})"), ("stated_utc", utc)]


def _checked(column: str, spelled: ColumnForm) -> _Parts:
    stated_time, utc = part("stated", column), part("stated_utc", column)
    is_set = f"{_is_set(stated_time, spelled)} AND ({utc} IS NULL OR {_is_set(utc, spelled)})"
    return [("is_set", f"coalesce({is_set}, false)")]


def _cleaned(column: str, spelled: ColumnForm) -> _Parts:
    """Return SQL for the stated parts without values that are unset or outside the calendar."""
    is_set, stated_time = part("is_set", column), part("stated", column)
    day, wall, own = (part(name, column) for name in ("raw_day", "raw_wall", "raw_own"))
    wall = f"timezone({_literal(spelled.own_zone)}, {own})" if spelled.own_zone else wall
    return [
        ("is_unset", f"coalesce(isfinite({stated_time}) AND NOT {is_set}, false)"),
        ("has_clock", f"{day} IS NULL"),
        ("its_day", f"CASE WHEN {is_set} THEN {day} END"),
        ("wall", f"CASE WHEN {is_set} THEN {wall} END"),
        ("own", f"CASE WHEN {is_set} THEN {own} END"),
    ]


def _is_set(moment: str, spelled: ColumnForm) -> str:
    if not spelled.has_unset:
        return f"({moment} >= TIMESTAMP '0001-01-01' AND {moment} < TIMESTAMP '10000-01-01')"
    days = ", ".join(f"DATE '{day}'" for day in UNSET_DAYS)
    within = f"{moment} >= TIMESTAMP '{FIRST_YEAR:04}-01-01' AND {moment} < TIMESTAMP '{LAST_YEAR + 1}-01-01'"
    # DuckDB would turn `NOT IN` into a join, which takes three times as long to plan as the whole query.
    return f"({within} AND NOT list_contains([{days}], {moment}::DATE))"


def _placed(column: str, spelled: ColumnForm) -> _Parts:
    """Return SQL for the instant before rounding."""
    day, wall, own = (part(name, column) for name in ("its_day", "wall", "own"))
    zone = spelled.zone or DEFAULT_ZONE
    return [("moment", f"coalesce({own}, {in_zone(wall, zone)}, {end_of_day_sql(day, zone)})")]


def _walls(column: str, spelled: ColumnForm) -> _Parts:
    """Return SQL for the clock times of the instant in the zone and in UTC, if they may be midnights."""
    clock, own, is_finer, moment = (part(name, column) for name in ("has_clock", "own", "is_finer", "moment"))
    zone = spelled.zone or DEFAULT_ZONE
    whole = f"(epoch_us({moment}) % {_QUARTER_HOUR} = 0 OR {moment} < TIMESTAMPTZ '{_ODD_OFFSETS_UNTIL} 00:00:00+00')"
    may_be = f"{clock} AND NOT {is_finer} AND {whole}" + ("" if spelled.zone else f" AND {own} IS NOT NULL")
    return [
        ("wall_there", f"CASE WHEN {may_be} THEN timezone({_literal(zone)}, {moment}) END"),
        ("wall_utc", f"CASE WHEN {may_be} THEN make_timestamp(epoch_us({moment})) END"),
    ]


def _midnights(column: str, _spelled: ColumnForm) -> _Parts:
    """Return SQL for the days whose midnight is the instant, on its own clock, in the zone and in UTC."""
    is_finer = part("is_finer", column)
    return [
        (f"day_{name}", f"CASE WHEN NOT {is_finer} AND {wall} = date_trunc('day', {wall}) THEN {wall}::DATE END")
        for name, wall in (("own", part("wall", column)), ("there", part("wall_there", column)),
                           ("utc", part("wall_utc", column)))
    ]  # fmt: skip


def _settled(column: str, spelled: ColumnForm) -> _Parts:
    day, wall, own, clock, is_finer, moment = (
        part(name, column) for name in ("its_day", "wall", "own", "has_clock", "is_finer", "moment")
    )
    own_day, there, utc = (part(name, column) for name in ("day_own", "day_there", "day_utc"))
    zone = spelled.zone or DEFAULT_ZONE
    own_end = end_of_day_sql(own_day, spelled.own_zone) if spelled.own_zone else f"{own} + INTERVAL 24 HOURS"
    ends = [*(end_of_day_sql(each, zone) for each in (own_day, there, utc)), end_of_day_sql(utc, "UTC")]
    end = f"greatest({', '.join(ends)}, CASE WHEN {own_day} IS NOT NULL THEN {own_end} END)"
    is_midnight = f"coalesce({own_day}, {there}, {utc}) IS NOT NULL"
    no_zone = "false" if spelled.zone else f"{own} IS NULL AND {wall} IS NOT NULL AND NOT ({is_midnight})"
    return [
        ("instant", f"{moment} + if({is_finer}, INTERVAL 1 MICROSECOND, INTERVAL 0 SECOND)"),
        ("day", f"coalesce({day}, greatest({own_day}, {there}, {utc}))"),
        ("end", f"CASE WHEN {clock} THEN {end} ELSE {moment} END"),
        ("lacks_zone", no_zone),
    ]


def end_of_day_sql(day: str, zone: str) -> str:
    """Return SQL for the end of a day in a zone, as `end_of_day`."""
    return in_zone(f"({day} + 1)::TIMESTAMP", zone)


def in_zone(wall: str, zone: str) -> str:
    """Return SQL for the instant of a clock time in a zone, as `later`. UTC needs no calendar, which is slow."""
    return f"make_timestamptz(epoch_us({wall}))" if zone == "UTC" else f"timezone({_literal(zone)}, {wall})"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
