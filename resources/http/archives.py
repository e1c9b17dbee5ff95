"""Archives: EDGAR's bulk files, stored whole among the captures and read member by member.

A member is returned as EDGAR's answer to the corresponding request, so that the same feeds can read it.
"""

import json
import re
import shutil
import struct
import time
import zipfile
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import file_digest
from itertools import islice
from pathlib import Path
from typing import Literal

from pitlake import clock
from pitlake.errors import AnswerRefused, BadInput
from pitlake.recorder import drafted, write_whole
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import captured
from resources.http.provider import NO_DATA, OK
from resources.http.providers.sec_edgar import PROVIDER

FOLDER = "bulk"
Kind = Literal["companyfacts", "submissions"]
DAMAGED = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)
"""The errors of reading a member that is damaged, encrypted, or compressed in an unknown way."""
LONGEST_COPY = 86_400
"""The seconds after which the draft of a copy belongs to a load that was killed."""
MEMBERS_THAT_DECIDE = 5
_MEMBER = re.compile(r"CIK\d{10}(-submissions-\d+)?\.json", re.ASCII)
PATHS: dict[str, str] = {"companyfacts": "/api/xbrl/companyfacts/{}", "submissions": "/submissions/{}"}


@dataclass(frozen=True, kw_only=True)
class Member:
    """One file of an archive. mark: a value that changes with its content. size: the unpacked bytes."""

    name: str
    mark: tuple[int, int]
    size: int

    @property
    def cik(self) -> str:
        """The CIK of its company, as ten digits."""
        return self.name[3:13]

    @property
    def is_page(self) -> bool:
        return "-submissions-" in self.name


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A captured bulk file. sha256: the hash of the whole file."""

    kind: Kind
    path: Path
    sha256: str
    taken_at: datetime

    def members(self) -> list[Member]:
        """Return its members about companies, in order of CIKs."""
        with zipfile.ZipFile(self.path) as archive:
            members = {
                entry.filename: Member(name=entry.filename, mark=(entry.CRC, entry.file_size), size=entry.file_size)
                for entry in archive.infolist()
                if _MEMBER.fullmatch(entry.filename)
            }
        return [members[name] for name in sorted(members)]


def read(archive: Archive, name: str) -> Capture:
    """Return a member as a capture of the corresponding request to EDGAR.

    Raises AnswerRefused if the member is missing, too large or damaged. Its content is not judged.
    """
    zipped, request = _opened(archive.path), Request(PATHS[archive.kind].format(name))
    evidence = PROVIDER.url(request)
    try:
        entry = zipped.getinfo(name)
        if entry.file_size > PROVIDER.most_bytes:
            raise AnswerRefused("upstream_error", f"the member is more than {PROVIDER.most_bytes >> 20} MiB", evidence)
        content = zipped.read(entry)
    except KeyError:
        raise AnswerRefused(NO_DATA, "the archive has no such member", evidence) from None
    except DAMAGED as problem:
        raise AnswerRefused("upstream_error", f"the member is damaged ({type(problem).__name__})", evidence) from None
    headers = {"content-type": "application/json"}
    return captured(PROVIDER, request, content, headers=headers, fetched_at=archive.taken_at)


def judged(archive: Archive, name: str) -> Capture:
    """Return a member like `read`, judged like EDGAR's answer. Raises AnswerRefused."""
    capture = read(archive, name)
    verdict = PROVIDER.judge(capture)
    if verdict != OK:
        raise AnswerRefused(verdict.gap_type, verdict.reason, capture.evidence, capture.fetched_at)
    return capture


@lru_cache(maxsize=len(PATHS))
def _opened(path: Path) -> zipfile.ZipFile:
    """Open a stored archive, once per process, because reading its directory takes longer than reading a member."""
    return zipfile.ZipFile(path)


def keep(store: CaptureStore, path: Path) -> Archive:
    """Copy a bulk file to the captures unless its content is already there. Raises BadInput for any other file."""
    kind = kind_of(path)
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    folder = store.root / FOLDER / kind
    target, facts = folder / f"{digest}.zip", folder / f"{digest}.json"
    if not facts.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".*.tmp"):
            if left.stat().st_mtime < time.time() - LONGEST_COPY:
                left.unlink(missing_ok=True)
        with path.open("rb") as file, drafted(target) as draft:
            shutil.copyfileobj(file, draft)
        write_whole(facts, (json.dumps({"taken_at": clock.iso(clock.now()), "name": path.name}) + "\n").encode())
    return found(store, kind, digest)


def found(store: CaptureStore, kind: Kind, sha256: str) -> Archive:
    """Return a stored archive. Raises FileNotFoundError."""
    target = store.root / FOLDER / kind / f"{sha256}.zip"
    taken_at = clock.instant(json.loads(target.with_suffix(".json").read_text())["taken_at"])
    return Archive(kind=kind, path=target, sha256=sha256, taken_at=taken_at)


def kind_of(path: Path) -> Kind:
    """Return the kind of a bulk file, which is the kind of most of its first readable members. Raises BadInput."""
    if not path.is_file():  # Opening a pipe would wait for its writer.
        raise BadInput("--from", f"there is no file {str(path)!r}", _NEXT_STEP)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = (entry for entry in archive.infolist() if _MEMBER.fullmatch(entry.filename))
            readable = (kind for entry in entries if (kind := _kind_of_member(archive, entry)) is not None)
            kinds = Counter[Kind](islice(readable, MEMBERS_THAT_DECIDE)).most_common(1)
    except DAMAGED as problem:
        name = type(problem).__name__
        raise BadInput("--from", f"{str(path)!r} is not one of EDGAR's bulk files ({name})", _NEXT_STEP) from None
    if not kinds:
        raise BadInput("--from", f"{str(path)!r} contains neither facts nor submissions", _NEXT_STEP)
    return kinds[0][0]


def _kind_of_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Kind | None:
    """Return the kind of the bulk file that contains such a member; None if the member is damaged."""
    if "-submissions-" in entry.filename:
        return "submissions"
    with suppress(*DAMAGED):
        content = json.loads(archive.read(entry)) if entry.file_size <= PROVIDER.most_bytes else None
        if isinstance(content, dict):
            return "companyfacts" if "facts" in content else "submissions" if "filings" in content else None
    return None


_NEXT_STEP = (
    "download https://www.sec.gov/Archives/edgar/daily-index/xbrl/companyfacts.zip and "
    "https://www.sec.gov/Archives/edgar/daily-index/bulkdata/submissions.zip"
)
