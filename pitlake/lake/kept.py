"""Where kept receipts lie, and which versions they need: all that a vacuum has to know of them.

What a receipt says is pitlake.receipts' business. Called by the lake before it vacuums, and by pitlake.receipts.
"""

import hashlib
import json
from pathlib import Path

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


def receipt_files(store: Store) -> list[Path]:
    """The files of the kept receipts, by name."""
    return sorted(store.path(RECEIPTS).glob("*.json"))


def kept_versions(store: Store) -> set[int]:
    """The versions that kept receipts need. A file that is no receipt raises ReceiptDamaged: its need is unknown."""
    return {_version(path) for path in receipt_files(store)}


def _version(path: Path) -> int:
    try:
        return int(json.loads(path.read_bytes())["question"]["version"])
    except (ValueError, TypeError, KeyError):
        raise ReceiptDamaged(f"{path} is no receipt; remove it, or restore it from a copy") from None
