"""Copies of a session as plain Delta tables, for engines without as-of queries.

A copy contains the rows of the instant and nothing more: its readers are not sealed off from other data, and it is not
updated. The table `receipt` records the question and the results, with one row per table, written last. A copy without
these rows is incomplete.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Literal

import pyarrow as pa
from deltalake import write_deltalake
from deltalake.exceptions import DeltaError

from pitlake import __version__, machine
from pitlake.clock import AVAILABLE_AT
from pitlake.errors import BadInput, LakeError
from pitlake.lake.storage.root import open_store
from pitlake.lake.storage.store import Store
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


def export(session: Session, target: str, *, revisions: bool = False) -> list[Exported]:
    """Write every dataset of a session, and its gaps, as a Delta table below a folder or an s3:// URL.

    revisions: write all public revisions instead of the newest ones. Raises BadInput for a target that contains files,
    and the errors of queries and the store. After an error the target is empty.
    """
    try:
        store = open_store(target)
    except BadInput as problem:
        raise BadInput("--to", problem.problem, problem.next_step) from None
    if next(store.walk(""), None) is not None:
        raise BadInput("--to", "holds files already", "name a folder or a prefix that is empty or not there")
    names = [name for (name,) in session.sql("SELECT dataset FROM lake_info ORDER BY dataset").rows()]
    views = {name: f"{name}_revisions" if revisions else name for name in names} | {GAPS: GAPS}
    _put(store, RECEIPT, RECEIPT_SCHEMA.empty_table())  # of two concurrent copies, only one gets the target
    try:
        exported = [_write(session, store, name, view) for name, view in views.items()]
        _put(store, RECEIPT, _receipt(session, exported), mode="append")
    except BaseException:
        with suppress(Exception):  # report the first problem
            for file in list(store.walk("")):
                store.delete(file.key)
        raise
    return exported


def _write(session: Session, store: Store, name: str, view: str) -> Exported:
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
            _put(store, name, pa.concat_tables(months), mode="append")
            months.clear()
    if months:
        _put(store, name, pa.concat_tables(months), mode="append")
    return Exported(table=name, rows=count, sha256=hashed.hexdigest())


def order(key: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the columns that order the rows of a table with this key and these columns uniquely."""
    unique = [AVAILABLE_AT, *key, *(["revision"] if "revision" in columns else [])]
    return unique if key and set(unique) <= set(columns) else [AVAILABLE_AT, *columns]


def _put(store: Store, name: str, rows: pa.Table, mode: Literal["error", "append"] = "error") -> None:
    whole = rows.combine_chunks()  # Delta writes several chunks in any order
    try:
        write_deltalake(store.table_uri(name), whole, mode=mode, storage_options=store.table_options)
    except (DeltaError, OSError) as problem:
        if shortage := machine.exhausted(problem, "the copy", store.location):
            raise shortage from None
        raise LakeError(f"{store.location} could not be written: {str(problem).splitlines()[0]}") from problem


def _receipt(session: Session, exported: list[Exported]) -> pa.Table:
    question = session.sql("SELECT 1").receipt.question
    question_fields = {name: getattr(question, name) for name in (*ASKED, "version")} | {
        "made_by": f"pitlake {__version__}"
    }
    return pa.Table.from_pylist([asdict(table) | question_fields for table in exported], RECEIPT_SCHEMA)
