"""Files on this machine that can be mounted: a single file, a folder, or a pattern."""

import hashlib
import re
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from glob import escape, glob
from pathlib import Path, PurePath

import duckdb
import pyarrow as pa
import pyarrow.parquet as parquet
from deltalake.exceptions import DeltaError

from pitlake import machine
from pitlake.errors import BadInput
from pitlake.lake.mounting.rows import Rows, copy_rows, literal, types_of, zones_of
from pitlake.lake.tables.query import quoted

READERS = {
    ".parquet": "read_parquet({files}, union_by_name = true)",
    ".csv": "read_csv({files}, sample_size = -1, dateformat = '%Y-%m-%d', union_by_name = true{types})",
    ".jsonl": "read_json({files}, format = 'newline_delimited', sample_size = -1, dateformat = '%Y-%m-%d', "
    "union_by_name = true{types})",
}
TYPES_OF = {".csv": "types", ".jsonl": "columns"}
"""The name of a text reader's option for the columns' types."""
_HAS_ZERO = r"regexp_matches(trim({0}), '^[+-]?0\d')"
_IS_LONG = r"regexp_matches(trim({0}), '^\d{{19}}')"
CODES = {"BOOLEAN": "lower({0}) NOT IN ('true', 'false')", "BIGINT": _HAS_ZERO, "HUGEINT": f"{_HAS_ZERO} OR {_IS_LONG}"}
CODES["DOUBLE"] = CODES["HUGEINT"]
"""SQL for whether a string is a code that its type would change: T, 00700, 06738E204, an id of 20 digits."""
ENDINGS = {".pq": ".parquet", ".tsv": ".csv", ".ndjson": ".jsonl"}
S3 = "s3://"
IsText = Callable[[str, str], bool]
"""Whether a column of a text file stays text, by its name and its detected type."""


def never(_name: str, _kind: str) -> bool:
    """Return False for every column, so that the types of all columns are detected."""
    return False


@dataclass(frozen=True)
class LocalFiles:
    """Files on this machine. place: a path, a folder or a pattern."""

    place: str
    is_text: IsText = never

    def state(self) -> Hashable:
        """Return a value that changes when the files change. Raises BadInput if no file exists."""
        statuses = ((file, Path(file).stat()) for file in self._files())
        return tuple((file, status.st_ino, status.st_mtime_ns, status.st_size) for file, status in statuses)

    def read(self, connection: duckdb.DuckDBPyConnection, scratch: Path) -> Rows:
        """Return the files' rows. Raises BadInput."""
        return read_files(connection, self._files(), Path(self.place).name, self.is_text, scratch)

    def _files(self) -> list[str]:
        if Path(self.place).is_file():
            return [self.place]
        if Path(self.place).is_dir():
            entries = (path for pattern in ("*", "*=*/**/*") for path in Path(self.place).glob(pattern))
            within = [path.relative_to(self.place) for path in entries if path.is_file()]
            files = sorted(str(Path(self.place, path)) for path in of_folder(within))
        else:
            files = [file for file in sorted(glob(self.place)) if Path(file).is_file()]  # noqa: PTH207 - may have a folder
        if not files:
            raise no_file(self.place)
        return files


def of_folder(paths: Collection[PurePath]) -> list[PurePath]:
    """Return the files of a folder or of its partitions, such as year=2024, without markers such as _SUCCESS."""
    files = [path for path in paths if path.name[0] not in "._"]
    direct = [path for path in files if len(path.parts) == 1]
    return direct or [path for path in files if all("=" in part for part in path.parts[:-1])]


@contextmanager
def reading_from(place: str, store_error: type[Exception] = OSError) -> Iterator[None]:
    """Turn errors of files, Delta tables and a store's library into BadInput, or MachineExhausted for no space."""
    try:
        yield
    except (DeltaError, OSError, store_error) as error:
        if shortage := machine.exhausted(error, "the table", place):
            raise shortage from None
        problem = "no such bucket" if "NoSuchBucket" in str(error) else machine.one_line(error)
        next_step = "check that it exists and is complete; for s3://, check the AWS_* variables"
        raise BadInput("the table", f"{place} can't be read: {problem}", next_step) from None


def read_files(
    connection: duckdb.DuckDBPyConnection, files: list[str], label: str, is_text: IsText, scratch: Path
) -> Rows:
    """Return the rows of files of one format. Text formats are parsed once, into `scratch`. Raises BadInput."""
    endings = {Path(file.removesuffix(".gz")).suffix.lower() for file in files}
    spellings = {ENDINGS.get(ending, ending) for ending in endings}
    if len(spellings) != 1 or not spellings <= READERS.keys():
        names = ", ".join((*READERS, *ENDINGS))
        problem = f"files that end in {' and '.join(sorted(endings))}"
        raise BadInput("the table", problem, f"give files that end in one of {names}")
    # DuckDB treats a path as a pattern, which may match another file.
    ending, spelled = spellings.pop(), "[" + ", ".join(literal(escape(file)) for file in files) + "]"
    if ending not in TYPES_OF:
        return Rows(READERS[ending].format(files=spelled, types=""), label, _digest(files), _zones(files))
    types = types_of(connection, READERS[ending].format(files=spelled, types=""))
    if ending == ".jsonl":
        # Of fields such as `k` and `K`, DuckDB renames one to `K_1` and then finds no value for it.
        lower = {name.lower() for name in types}
        for name in types:
            match = re.fullmatch(r"(.+)_\d+", name)
            if match is None or match[1].lower() not in lower:
                continue
            has_it = f"coalesce(bool_or(list_contains(json_keys(json), {literal(name)})), false)"
            if connection.sql(f"SELECT {has_it} FROM read_ndjson_objects({spelled})").fetchall() == [(False,)]:
                raise BadInput("columns", f"fields called {match[1]} differ only in case", "rename one of them")
    else:
        for file in files:
            # DuckDB takes rows at the start of a file for titles, if a later row has more fields.
            place = literal(escape(file))
            sniffed = connection.sql(f"SELECT Delimiter, SkipRows FROM sniff_csv({place}, sample_size = -1)")
            ((delimiter, skipped),) = sniffed.fetchall()
            as_lines = "auto_detect = false, header = false, delim = '\x01', quote = '', escape = ''"
            lines = f"read_csv({place}, {as_lines}, columns = {{'line': 'VARCHAR'}})"
            for (line,) in connection.sql(f"FROM {lines} LIMIT {skipped}").fetchall():
                if sum(bool(field.strip()) for field in (line or "").split(delimiter.replace("\\t", "\t"))) > 1:
                    problem = (
                        f"{Path(file).name} has lines of fewer fields before the names of columns, such as {line!r}"
                    )
                    raise BadInput("the table", problem, "give every line as many fields, or remove these lines")
    # Times and UUIDs stay as written. DuckDB drops the offsets of times if some in a column have none.
    types = {
        name: "VARCHAR" if is_text(name, kind) or kind.startswith(("TIME", "UUID")) else kind
        for name, kind in types.items()
    }
    conditions = {name: CODES[kind].format(quoted(name)) for name, kind in types.items() if kind in CODES}
    as_texts = types | dict.fromkeys(conditions, "VARCHAR")
    pairs = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in as_texts.items())
    rows = READERS[ending].format(files=spelled, types=f", {TYPES_OF[ending]} = {{{pairs}}}")
    copy = copy_rows(connection, rows, scratch, label).sql
    if conditions:
        have_codes = ", ".join(f"coalesce(bool_or({condition}), false)" for condition in conditions.values())
        answers = connection.sql(f"SELECT {have_codes} FROM {copy}").fetchall()[0]
        typed = ", ".join(
            f"nullif(trim({quoted(name)}), '')::{types[name]} AS {quoted(name)}"
            for name, has_codes in zip(conditions, answers, strict=True)
            if not has_codes
        )
        copy = f"(SELECT * REPLACE ({typed}) FROM {copy})" if typed else copy
    return Rows(copy, label, _digest(files))


def _zones(files: list[str]) -> dict[str, str]:
    """Return the zones of Parquet columns. Raises BadInput if files disagree: DuckDB would take all for UTC."""
    try:
        schemas = [parquet.read_schema(file) for file in files]
    except pa.ArrowException:  # DuckDB says what is wrong with the file.
        return {}
    zones: dict[str, str | None] = {}
    for column in (column for schema in schemas for column in schema if pa.types.is_timestamp(column.type)):
        if column.type.tz != zones.setdefault(column.name.lower(), column.type.tz):
            problem = f"{column.name} has a different time zone, or none, in some of the files"
            raise BadInput("columns", problem, "write the column in the same way in all files")
    return {name: zone for schema in schemas for name, zone in zones_of(schema).items()}


def no_file(place: str) -> BadInput:
    return BadInput("the table", f"there is no file {place}", "give a path, or a pattern such as 'days/*.parquet'")


def _digest(files: list[str]) -> str:
    digests = []
    for file in files:
        with Path(file).open("rb") as content:
            digests.append(hashlib.file_digest(content, "sha256").hexdigest())
    return digests[0] if len(files) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
