"""Where a lake is: a directory or an object store, as its root says. Called by whoever opens a lake.

What the two can do is in `pitlake.lake.store` and `pitlake.lake.remote`.
"""

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pitlake.errors import BadInput
from pitlake.lake.remote import RemoteStore
from pitlake.lake.store import Store

DEFAULT_ROOT = Path(".pitlake") / "lake"
ROOT_VARIABLE = "PITLAKE_LAKE"


def open_store(root: str | Path | None) -> Store:
    """The lake's store: at the argument, else $PITLAKE_LAKE, else ./.pitlake/lake. Touches nothing.

    Raises BadInput for a URL that is neither file:// nor s3://, and for what is no path.
    """
    if root is not None and not isinstance(root, str | os.PathLike):
        raise BadInput("lake", f"is a {type(root).__name__}", "give a directory, a file:// URL or s3://bucket/prefix")
    chosen = root or os.environ.get(ROOT_VARIABLE) or DEFAULT_ROOT
    if isinstance(chosen, str) and "://" in chosen:
        url = urlsplit(chosen)
        if url.scheme == "s3":
            return RemoteStore(chosen)
        if url.scheme != "file" or url.netloc not in ("", "localhost"):
            next_step = "give a directory, a file:// URL or s3://bucket/prefix"
            raise BadInput("lake", f"{url.scheme}:// roots are not supported", next_step)
        chosen = unquote(url.path)
    return Store(Path(chosen).expanduser().absolute())
