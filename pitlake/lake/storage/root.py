"""The location of a lake: a directory or an object store, depending on its root.

`pitlake.lake.storage.store` and `pitlake.lake.storage.remote` implement the two.
"""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pitlake.errors import BadInput
from pitlake.lake.storage.store import Store

DEFAULT_ROOT = Path(".pitlake") / "lake"
ROOT_VARIABLE = "PITLAKE_LAKE"
NEXT_STEP = "give a directory, a file:// URL or s3://bucket/prefix"


def open_store(root: str | Path | None) -> Store:
    """Return the lake's store: at the argument, else $PITLAKE_LAKE, else ./.pitlake/lake.

    This reads and writes no files. Raises BadInput for a URL that is neither file:// nor s3://, for an invalid path,
    and if there is no home folder.
    """
    if root is not None and not isinstance(root, str | os.PathLike):
        raise BadInput("lake", f"is a {type(root).__name__}", NEXT_STEP)
    chosen = root or os.environ.get(ROOT_VARIABLE) or DEFAULT_ROOT
    if isinstance(chosen, str) and "://" in chosen:
        try:
            url = urlsplit(chosen)
        except ValueError:
            raise BadInput("lake", "is a URL that can't be read", NEXT_STEP) from None
        if url.scheme == "s3":
            from pitlake.lake.storage.remote import RemoteStore

            return RemoteStore(chosen)
        if url.scheme != "file" or url.netloc not in ("", "localhost"):
            raise BadInput("lake", f"{url.scheme}:// roots are not supported", NEXT_STEP)
        chosen = unquote(url.path)
    try:
        return Store(Path(chosen).expanduser().absolute())
    except RuntimeError:  # expanduser raises this error for an unknown user.
        raise BadInput("lake", "begins with ~, but that home directory does not exist", NEXT_STEP) from None
