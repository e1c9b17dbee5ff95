"""Where kept receipts lie, and which versions they need: all that a vacuum has to know of them.

What a receipt says is pitlake.receipts' business. Called by the lake before it vacuums, and by pitlake.receipts.
"""

import hashlib
import json

from pitlake.errors import ReceiptDamaged
from pitlake.lake.store import Store

RECEIPTS = "_lake/receipts"
ID_LENGTH = 16


def receipt_id(content: bytes) -> str:
    """The name of a receipt: the start of its file's hash."""
    return hashlib.sha256(content).hexdigest()[:ID_LENGTH]


def receipt_key(name: str) -> str:
    """Where a receipt lies."""
    return f"{RECEIPTS}/{name}.json"


def receipt_ids(store: Store) -> list[str]:
    """The ids of the kept receipts, sorted."""
    keys = (file.key.removeprefix(f"{RECEIPTS}/") for file in store.walk(RECEIPTS))
    return sorted(key.removesuffix(".json") for key in keys if key.endswith(".json") and "/" not in key)


def kept_versions(store: Store) -> set[int]:
    """The versions that kept receipts need. A file that is no receipt raises ReceiptDamaged: its need is unknown."""
    return {_version(store, receipt_key(name)) for name in receipt_ids(store)}


def _version(store: Store, key: str) -> int:
    try:
        return int(json.loads(store.read(key))["question"]["version"])
    except (ValueError, TypeError, KeyError):
        raise ReceiptDamaged(f"{store.path(key)} is no receipt; remove it, or restore it from a copy") from None
