"""Stored receipts and their replay. A repeated question gives the same bytes, or an error that says what is missing.

A result stores its own receipt (`Result.keep`), and the lake protects what a stored receipt needs.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from pitlake.clock import from_micros
from pitlake.errors import BadInput, LimitExceeded, QueryFailed, ReceiptDamaged, ReplayDiffers, ReplayImpossible
from pitlake.lake.storage.receipt_store import (
    ID_LENGTH,
    RECEIPTS,
    REMEDY,
    receipt_bytes,
    receipt_id,
    receipt_ids,
    receipt_key,
)
from pitlake.lake.storage.root import open_store
from pitlake.lake.storage.store import Store
from pitlake.questions import catalogue as queries
from pitlake.session.result import Question, Receipt, Step

if TYPE_CHECKING:
    import pyarrow as pa

    from pitlake.lake.lake import Lake
    from pitlake.session import Catalogue, Result, Session

_Kind = TypeVar("_Kind", Receipt, Question, Step)

SHORTEST_PREFIX = 4
_IS_ID = re.compile(f"[0-9a-f]{{{ID_LENGTH}}}")
_IS_SHA256 = re.compile("[0-9a-f]{64}")


def ids(root: str | Path | None = None) -> frozenset[str]:
    """Return the ids of the receipts stored in a lake, intact or damaged."""
    return frozenset(receipt_ids(open_store(root)))


def kept_at(root: str | Path | None = None) -> dict[str, datetime]:
    """Return when each receipt of a lake was stored, by id, newest first."""
    times = {file.key: file.modified for file in open_store(root).walk(RECEIPTS)}
    ordered = sorted(times.items(), key=lambda item: item[1], reverse=True)
    return {Path(key).stem: from_micros(int(seconds * 1e6)) for key, seconds in ordered if key.endswith(".json")}


def survey(root: str | Path | None = None) -> tuple[dict[str, Receipt], list[ReceiptDamaged]]:
    """Return the receipts stored in a lake, by id, and the faults of damaged ones."""
    store = open_store(root)
    sound: dict[str, Receipt] = {}
    damaged: list[ReceiptDamaged] = []
    for name in receipt_ids(store):
        try:
            sound[name] = _kept(store, name)
        except ReceiptDamaged as error:
            damaged.append(error)
    return sound, damaged


def find(reference: str, root: str | Path | None = None) -> Receipt:
    """Return the receipt with this path, id or start of an id, or that of the newest version whose answer has this
    sha256. Raises BadInput, ReceiptDamaged.
    """
    if _IS_SHA256.fullmatch(reference):
        return _of_answer(reference, root)
    if not reference.endswith(".json"):
        store = open_store(root)
        return _kept(store, _id(store, reference))
    path = Path(reference)
    content = _file(path)
    if _IS_ID.fullmatch(path.stem) and path.stem != receipt_id(content):
        raise ReceiptDamaged(f"{path} was changed after it was written; restore it from a copy")
    return _read(content, path)


def forget(reference: str, root: str | Path | None = None) -> str:
    """Remove a receipt, even a damaged one, and return its id. A vacuum may then remove the version it needs."""
    store = open_store(root)
    is_file = reference.endswith(".json")
    name = _id(store, receipt_id(_file(Path(reference))) if is_file else reference)
    store.delete(receipt_key(name))
    return name


def replay(
    receipt: Receipt,
    lake: "str | Path | Lake | None" = None,
    *,
    loaded: "Mapping[str, pa.Table] | None" = None,
    isolation: Any = "process",
    catalogue: "Catalogue | None" = None,
) -> "Result":
    """Repeat a receipt's question and return the same answer.

    loaded: the rows the session had loaded, by name. catalogue: the queries that the session had. Raises
    VersionVacuumed or ReplayImpossible if something is missing, ReplayDiffers if the answer has changed.
    """
    question = receipt.question
    with _reopen(question, lake, isolation, catalogue) as session:
        for step in question.prelude:
            _repeat(session, step, loaded or {})
        query = queries.all_queries().get(question.query or "")
        result = session.ask(
            (query if query and query.sql == question.sql else None) or question.sql,
            values(question.parameters),
            max_rows=question.max_rows,
            max_bytes=question.max_bytes,
        )
    receipt_now = result.receipt
    if (receipt_now.result_sha256, receipt_now.rows, receipt_now.truncated) != (
        receipt.result_sha256,
        receipt.rows,
        receipt.truncated,
    ):
        raise ReplayDiffers(receipt_now.result_sha256, _why(question, receipt_now.question))
    return result


def _reopen(
    question: Question, lake: "str | Path | Lake | None", isolation: Any, catalogue: "Catalogue | None"
) -> "Session":
    from pitlake.session import Limits, Viewpoint, open_session

    try:
        viewpoint = Viewpoint.parse(
            question.as_of,
            open_mode=question.as_of is None,
            known_by=question.known_by,
            hindsight=question.hindsight,
            lake=lake,
            isolation=isolation,
        )
        return open_session(
            replace(viewpoint, version=question.version),
            datasets=question.datasets,
            limits=Limits(
                rows=question.most_rows,
                bytes=question.most_bytes,
                # This machine may be slower than the one that made the receipt.
                seconds=max(question.seconds, Limits().seconds),
                memory=max(question.memory, Limits().memory),
                threads=question.threads,
            ),
            catalogue=catalogue,
        )
    except BadInput as refused:
        raise ReplayImpossible(f"this installation can't open that session: {refused}") from None


def _repeat(session: "Session", step: Step, loaded: "Mapping[str, pa.Table]") -> None:
    from pitlake.session.digest import sha256_of

    name = step.sql.removeprefix("load ")
    if not step.sql.startswith("load ") or len(step.parameters) != hashlib.sha256().digest_size * 2:
        # The step may have failed in the original session too; the hash of the answer decides.
        with suppress(QueryFailed, LimitExceeded):
            session.sql(step.sql, values(step.parameters))
        return
    if name not in loaded:
        raise ReplayImpossible(f"the session had loaded rows as {name!r} (sha256 {step.parameters}); load them again")
    if sha256_of(loaded[name]) != step.parameters:
        raise ReplayImpossible(
            f"the given rows of {name!r} differ from those the session had (sha256 {step.parameters})"
        )
    session.load(name, loaded[name])


def _why(then: Question, now: Question) -> str:
    if then.engine != now.engine:
        return f"{then.engine} answered it, and this installation has {now.engine}"
    if then.threads != 1:
        return f"it was answered with {then.threads} threads, whose order may vary; use one thread"
    return "this is a different lake, or the SQL has no fixed answer"


def values(parameters: str) -> Any:
    """Return the parameters of a question: a list, a dict or None. Raises ReceiptDamaged otherwise."""
    from pitlake.session.sealed.protocol import unpack_parameters

    try:
        values = unpack_parameters(json.loads(parameters))
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError):
        values = ...
    if values is not None and not isinstance(values, list | dict):
        raise ReceiptDamaged(f"the receipt's parameters can't be read: {parameters[:80]!r}")
    return values


def _of_answer(sha256: str, root: str | Path | None) -> Receipt:
    sound, _ = survey(root)
    matching = [receipt for receipt in sound.values() if receipt.result_sha256 == sha256]
    if not matching:
        raise BadInput("RECEIPT", f"no stored receipt has the answer {sha256}", "`pitlake receipts` lists them")
    return max(matching, key=lambda receipt: receipt.version)


def _kept(store: Store, name: str) -> Receipt:
    return _read(receipt_bytes(store, name), store.path(receipt_key(name)))


def _file(path: Path) -> bytes:
    if not path.is_file():
        raise BadInput("RECEIPT", f"there is no file {path}", "give a receipt's file, or the id of a stored receipt")
    return path.read_bytes()


def _id(store: Store, reference: str) -> str:
    if len(reference) < SHORTEST_PREFIX:
        raise BadInput("RECEIPT", f"{reference!r} is too short", f"give at least {SHORTEST_PREFIX} characters of an id")
    matching = [name for name in receipt_ids(store) if name.startswith(reference)]
    if not matching:
        raise BadInput(
            "RECEIPT", f"no stored receipt has an id that begins with {reference!r}", "`pitlake receipts` lists them"
        )
    if len(matching) > 1:
        raise BadInput(
            "RECEIPT",
            f"{reference!r} is the start of several ids: {', '.join(matching)}",
            "give more characters of the one you mean",
        )
    return matching[0]


def _read(content: bytes, path: Path) -> Receipt:
    try:
        fields = json.loads(content)
        question = fields["question"]
        lists = {
            "datasets": _texts(question["datasets"]),
            "prelude": tuple(_made(Step, step) for step in question["prelude"]),
        }
        receipt = _made(Receipt, fields | {"question": _made(Question, question | lists)})
        sql_sha256 = hashlib.sha256(receipt.question.sql.encode()).hexdigest()
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ReceiptDamaged(f"{path} is not a receipt; {REMEDY}") from None
    if sql_sha256 != receipt.sql_sha256:
        raise ReceiptDamaged(f"{path} was changed: its SQL is not the SQL it was made for")
    return receipt


def _texts(texts: Any) -> tuple[str, ...]:
    if type(texts) is not list or any(type(text) is not str for text in texts):
        raise TypeError("not a list of texts")
    return tuple(texts)


def _made(kind: type[_Kind], fields: dict[str, Any]) -> _Kind:
    """Parse the receipt's fields into their types. A field with a default may be newer than the file."""
    for name, hint in get_type_hints(kind).items():
        allowed = get_args(hint) if isinstance(hint, UnionType) else (get_origin(hint) or hint,)
        if name in fields and type(fields[name]) not in allowed:
            raise TypeError(name)
    return kind(**fields)
