"""Stored receipts, and the versions that they need, for the vacuum. pitlake.answers.receipts reads them."""

import hashlib
import json

from pitlake.errors import ReceiptDamaged
from pitlake.lake.storage.store import Store

RECEIPTS = "_lake/receipts"
ID_LENGTH = 16
REMEDY = "restore it from a copy, or remove it with `pitlake receipts --forget`"


def receipt_id(content: bytes) -> str:
    """Return the id of a receipt: the start of its file's hash."""
    return hashlib.sha256(content).hexdigest()[:ID_LENGTH]


def receipt_key(name: str) -> str:
    return f"{RECEIPTS}/{name}.json"


def receipt_ids(store: Store) -> list[str]:
    """Return the ids of the stored receipts, sorted."""
    keys = (file.key.removeprefix(f"{RECEIPTS}/") for file in store.walk(RECEIPTS))
    return sorted(key.removesuffix(".json") for key in keys if key.endswith(".json") and "/" not in key)


def receipt_bytes(store: Store, name: str) -> bytes:
    """Return a stored receipt's file. Raises ReceiptDamaged if the file's name is not the hash of its content."""
    content = store.read(receipt_key(name))
    if receipt_id(content) != name:
        raise ReceiptDamaged(f"{store.path(receipt_key(name))} was changed after it was written; {REMEDY}")
    return content


def kept_versions(store: Store) -> set[int]:
    """Return the versions that stored receipts need.

    Raises ReceiptDamaged for a damaged receipt, because the version it needs is unknown.
    """
    versions = set[int]()
    for name in receipt_ids(store):
        try:
            version = json.loads(receipt_bytes(store, name))["question"]["version"]
        except (ValueError, TypeError, KeyError, RecursionError):
            version = None
        if type(version) is not int:
            raise ReceiptDamaged(f"{store.path(receipt_key(name))} is not a receipt; {REMEDY}")
        versions.add(version)
    return versions
