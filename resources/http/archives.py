"""Archives: EDGAR's bulk files as captures, stored whole with the others and read member by member.

A member is returned as EDGAR's answer to the request for it, so that the same feeds read it.
"""

import json
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import file_digest
from pathlib import Path
from typing import Literal

from pitlake import clock
from pitlake.errors import BadInput
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import captured
from resources.http.providers.sec_edgar import PROVIDER

FOLDER = "bulk"
Kind = Literal["companyfacts", "submissions"]
PATHS: dict[str, str] = {"companyfacts": "/api/xbrl/companyfacts/{}", "submissions": "/submissions/{}"}


@dataclass(frozen=True, kw_only=True)
class Member:
    """One file of an archive. mark: a value that changes with its content. size: the unpacked bytes."""

    name: str
    mark: tuple[int, int]
    size: int

    @property
    def cik(self) -> str:
        """Return its company, as ten digits."""
        return self.name[3:13]

    @property
    def is_page(self) -> bool:
        return "-submissions-" in self.name


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A captured bulk file. sha256: of the whole file."""

    kind: Kind
    path: Path
    sha256: str
    taken_at: datetime

    def members(self) -> list[Member]:
        """Return its files about companies, in order of their CIKs."""
        with zipfile.ZipFile(self.path) as archive:
            members = [
                Member(name=entry.filename, mark=(entry.CRC, entry.file_size), size=entry.file_size)
                for entry in archive.infolist()
                if entry.filename.startswith("CIK") and entry.filename[3:13].isdigit()
            ]
        return sorted(members, key=lambda member: member.name)


def read(archive: Archive, names: list[str]) -> Iterator[Capture]:
    """Yield members as captures of the requests that EDGAR would answer with them."""
    zipped = _opened(archive.path)
    for name in names:
        request = Request(PATHS[archive.kind].format(name))
        headers = {"content-type": "application/json"}
        yield captured(PROVIDER, request, zipped.read(name), headers=headers, fetched_at=archive.taken_at)


@lru_cache(maxsize=len(PATHS))
def _opened(path: Path) -> zipfile.ZipFile:
    """Open a stored archive, which never changes, once a process: reading its directory costs more than a member."""
    return zipfile.ZipFile(path)


def keep(store: CaptureStore, path: Path) -> Archive:
    """Copy a bulk file to the captures unless its content is there already. Raises BadInput for another file."""
    kind = kind_of(path)
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    folder = store.root / FOLDER / kind
    target, facts = folder / f"{digest}.zip", folder / f"{digest}.json"
    if not facts.exists():
        folder.mkdir(parents=True, exist_ok=True)
        draft = target.with_suffix(".part")
        shutil.copyfile(path, draft)
        draft.replace(target)
        draft = facts.with_suffix(".part")
        draft.write_text(json.dumps({"taken_at": clock.iso(clock.now()), "name": path.name}) + "\n")
        draft.replace(facts)
    return found(store, kind, digest)


def found(store: CaptureStore, kind: Kind, sha256: str) -> Archive:
    """Return a stored archive. Raises FileNotFoundError."""
    target = store.root / FOLDER / kind / f"{sha256}.zip"
    taken_at = clock.instant(json.loads(target.with_suffix(".json").read_text())["taken_at"])
    return Archive(kind=kind, path=target, sha256=sha256, taken_at=taken_at)


def kind_of(path: Path) -> Kind:
    """Return the kind of a bulk file, by its first member. Raises BadInput."""
    try:
        with zipfile.ZipFile(path) as archive:
            first = next(name for name in archive.namelist() if name.startswith("CIK") and "-submissions-" not in name)
            keys = json.loads(archive.read(first))
    except FileNotFoundError:
        raise BadInput("--from", f"there is no file {str(path)!r}", _NEXT_STEP) from None
    except (OSError, zipfile.BadZipFile, StopIteration, ValueError) as problem:
        kind = type(problem).__name__
        raise BadInput("--from", f"{str(path)!r} is not one of EDGAR's bulk files ({kind})", _NEXT_STEP) from None
    if isinstance(keys, dict) and "facts" in keys:
        return "companyfacts"
    if isinstance(keys, dict) and "filings" in keys:
        return "submissions"
    raise BadInput("--from", f"{str(path)!r} contains neither facts nor submissions", _NEXT_STEP)


_NEXT_STEP = (
    "download https://www.sec.gov/Archives/edgar/daily-index/xbrl/companyfacts.zip and "
    "https://www.sec.gov/Archives/edgar/daily-index/bulkdata/submissions.zip"
)
