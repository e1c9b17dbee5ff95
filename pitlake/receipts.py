"""Kept receipts and their replay: the same question asked again gives the same bytes, or says what is missing.

A result keeps its own receipt (`Result.keep`), and the lake what a kept receipt needs. Called by the doors and by
whoever audits an answer.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitlake.errors import BadInput, QueryFailed, ReceiptDamaged, ReplayDiffers, ReplayImpossible
from pitlake.lake.kept import receipt_id, receipt_ids, receipt_key
from pitlake.lake.places import open_store
from pitlake.lake.store import Store
from pitlake.session.result import Question, Receipt, Step

if TYPE_CHECKING:
    import pyarrow as pa

    from pitlake.lake.lake import Lake
    from pitlake.session import Result, Session

SHORTEST_PREFIX = 4


def kept(root: str | Path | None = None) -> dict[str, Receipt]:
    """The receipts kept in a lake, by id. Raises ReceiptDamaged for a file that is none."""
    store = open_store(root)
    return {name: _kept(store, name) for name in receipt_ids(store)}


def find(reference: str, root: str | Path | None = None) -> Receipt:
    """A receipt by the path of its file, or by its id or the start of it. Raises BadInput, ReceiptDamaged."""
    if reference.endswith(".json"):
        path = Path(reference)
        if not path.is_file():
            raise BadInput("RECEIPT", f"there is no file {reference}", "give a receipt's file, or the id of a kept one")
        return _read(path.read_bytes(), path)
    store = open_store(root)
    found = [name for name in receipt_ids(store) if name.startswith(reference)]
    if len(reference) < SHORTEST_PREFIX or len(found) != 1:
        problem = f"{reference!r} names {len(found) if len(reference) >= SHORTEST_PREFIX else 'too many'} kept receipts"
        raise BadInput("RECEIPT", problem, "`pitlake receipts` lists them")
    return _kept(store, found[0])


def forget(reference: str, root: str | Path | None = None) -> str:
    """Stop keeping a receipt; returns its id. The version it needs may then be vacuumed."""
    name = receipt_id(find(reference, root).to_json())
    open_store(root).delete(receipt_key(name))
    return name


def replay(
    receipt: Receipt,
    lake: "str | Path | Lake | None" = None,
    *,
    loaded: "Mapping[str, pa.Table] | None" = None,
    isolation: Any = "process",
) -> "Result":
    """Ask a receipt's question again and give the same answer.

    loaded: the rows the session had loaded, by name. Raises VersionVacuumed or ReplayImpossible saying what is missing,
    ReplayDiffers when the answer is another one.
    """
    question = receipt.question
    session = _reopen(question, lake, isolation)
    with session:
        for step in question.prelude:
            _repeat(session, step, loaded or {})
        result = session.sql(
            question.sql, _values(question.parameters), max_rows=question.max_rows, max_bytes=question.max_bytes
        )
    found = result.receipt
    if (found.result_sha256, found.rows, found.truncated) != (receipt.result_sha256, receipt.rows, receipt.truncated):
        raise ReplayDiffers(found.result_sha256, _why(question, found.question))
    return result


def _reopen(question: Question, lake: "str | Path | Lake | None", isolation: Any) -> "Session":
    from pitlake.session import Limits, connect

    try:
        return connect(
            question.as_of,
            version=question.version,
            lake=_lake(lake),
            isolation=isolation,
            datasets=question.datasets,
            open_mode=question.as_of is None,
            limits=Limits(threads=question.threads),
        )
    except BadInput as refused:
        raise ReplayImpossible(f"this installation can't open that session: {refused}") from None


def _repeat(session: "Session", step: Step, loaded: "Mapping[str, pa.Table]") -> None:
    from pitlake.session.digest import sha256_of

    name = step.sql.removeprefix("load ")
    if not step.sql.startswith("load ") or len(step.parameters) != hashlib.sha256().digest_size * 2:
        with suppress(QueryFailed):  # it may have failed then too; the answer's hash decides
            session.sql(step.sql, _values(step.parameters))
        return
    if name not in loaded:
        raise ReplayImpossible(f"the session had loaded rows as {name!r} (sha256 {step.parameters}); give them")
    if sha256_of(loaded[name]) != step.parameters:
        raise ReplayImpossible(f"the rows given as {name!r} are not those the session had (sha256 {step.parameters})")
    session.load(name, loaded[name])


def _why(then: Question, now: Question) -> str:
    if then.engine != now.engine:
        return f"it was answered by {then.engine}, this is {now.engine}"
    if then.threads != 1:
        return f"it was answered with {then.threads} threads, which promises no order; ask with one"
    return "the lake is not the one it was asked of, or the SQL does not fix its answer"


def _values(parameters: str) -> Any:
    from pitlake.session.protocol import unpack_parameters

    return unpack_parameters(json.loads(parameters))


def _lake(lake: "str | Path | Lake | None") -> "Lake":
    from pitlake.lake.lake import Lake

    return lake if isinstance(lake, Lake) else Lake(lake)


def _kept(store: Store, name: str) -> Receipt:
    key = receipt_key(name)
    return _read(store.read(key), store.path(key))


def _read(content: bytes, path: Path) -> Receipt:
    try:
        told = json.loads(content)
        question = _exactly(Question, told.pop("question"))
        question["datasets"] = tuple(question["datasets"])
        question["prelude"] = tuple(Step(**_exactly(Step, step)) for step in question["prelude"])
        receipt = Receipt(question=Question(**question), **_exactly(Receipt, told, without="question"))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise ReceiptDamaged(f"{path} is no receipt; remove it, or restore it from a copy") from None
    if hashlib.sha256(receipt.question.sql.encode()).hexdigest() != receipt.sql_sha256:
        raise ReceiptDamaged(f"{path} was changed: its SQL is not the SQL it was made for")
    return receipt


def _exactly(kind: type, told: dict[str, Any], without: str = "") -> dict[str, Any]:
    names = {field.name for field in fields(kind)} - {without}
    if set(told) != names:
        raise ValueError("other fields")
    return dict(told)
