"""Copies of a session as plain Delta or Iceberg tables, for engines without as-of queries.

A copy contains only the rows of the instant and is not updated. Its readers are not sealed off from other data. The
table `receipt` records the question and the results, one row per table, and is written last. A copy without these rows
is incomplete.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from os import PathLike, fspath

import pyarrow as pa

from pitlake import __version__
from pitlake.answers.copies import DELTA, Target, open_target
from pitlake.clock import AVAILABLE_AT
from pitlake.session import Session
from pitlake.session.sql.statements import identifier

RECEIPT, GAPS = "receipt", "gaps"
ASKED = ("as_of", "known_by", "hindsight", "filings_count_from", "bars_count_from")
RECEIPT_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("table", "sha256", "made_by", *ASKED)),
        *((name, pa.int64()) for name in ("rows", "version")),
    ]
)
AT_ONCE = 256 << 20
"""Rows are collected by whole months until they exceed this number of bytes, and then written."""
MONTHS = "SELECT DISTINCT date_trunc('month', available_at) AS month FROM {view} ORDER BY month"
OF_MONTH = """
SELECT * FROM {view} WHERE available_at >= $month AND available_at < $month::TIMESTAMPTZ + INTERVAL 1 MONTH
ORDER BY {order}"""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """An exported table. sha256: the hash over the hashes of its answers, one per UTC month of available_at."""

    table: str
    rows: int
    sha256: str


def export(
    session: Session, target: str | PathLike[str], *, revisions: bool = False, form: str = DELTA
) -> list[Exported]:
    """Write every dataset of a session, and its gaps, as a table below a folder or a URL.

    revisions: write all public revisions instead of the newest ones. form: "delta" or "iceberg". Raises BadInput for a
    target that contains anything, and the errors of queries and the store. After an error the target is empty.
    """
    copy = open_target(fspath(target), form)
    names = [name for (name,) in session.sql("SELECT dataset FROM lake_info ORDER BY dataset").rows()]
    views = {name: f"{name}_revisions" if revisions else name for name in names} | {GAPS: GAPS}
    copy.create(RECEIPT, RECEIPT_SCHEMA)  # This fails for the second of two concurrent copies.
    try:
        exported = [_write(session, copy, name, view) for name, view in views.items()]
        copy.append(RECEIPT, _receipt(session, exported))
    except BaseException:
        with suppress(Exception):  # report the first problem
            copy.clear()
        raise
    return exported


def _write(session: Session, copy: Target, name: str, view: str) -> Exported:
    schema = session.sql(f"SELECT * FROM {view} LIMIT 0").arrow().schema
    key = session.contracts[name].key if name != GAPS else ()
    by = ", ".join(map(identifier, order(key, schema.names)))
    hashed, count, months = hashlib.sha256(), 0, [schema.empty_table()]
    for (month,) in session.sql(MONTHS.format(view=view)).rows():
        answer = session.sql(OF_MONTH.format(view=view, order=by), {"month": month})
        hashed.update(bytes.fromhex(answer.receipt.result_sha256))
        count += len(answer)
        months.append(answer.arrow())
        if sum(rows.nbytes for rows in months) >= AT_ONCE:
            copy.append(name, pa.concat_tables(months))
            months.clear()
    if months:
        copy.append(name, pa.concat_tables(months))
    return Exported(table=name, rows=count, sha256=hashed.hexdigest())


def order(key: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the columns that order the rows of a table uniquely. The table has this key and these columns."""
    unique = [AVAILABLE_AT, *key, *(["revision"] if "revision" in columns else [])]
    return unique if key and set(unique) <= set(columns) else [AVAILABLE_AT, *columns]


def _receipt(session: Session, exported: list[Exported]) -> pa.Table:
    question = session.sql("SELECT 1").receipt.question
    question_fields = {name: getattr(question, name) for name in (*ASKED, "version")} | {
        "made_by": f"pitlake {__version__}"
    }
    return pa.Table.from_pylist([asdict(table) | question_fields for table in exported], RECEIPT_SCHEMA)
