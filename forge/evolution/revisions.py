"""Skills as revisions: a patch is applied to a copy in the PM's own folder, checked first, and one step can be undone.

What was before is kept beside the folder, by number and hash, and is never changed.
"""

import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

from skills_ref import validate

from pitlake.errors import BadInput

NONE = "none"


def folder_hash(place: Path) -> str:
    """SHA-256 of a skill's files, their names included."""
    told = sha256()
    for path in sorted(one for one in place.rglob("*") if one.is_file() and "__pycache__" not in one.parts):
        told.update(f"{path.relative_to(place).as_posix()}\0".encode() + sha256(path.read_bytes()).digest())
    return told.hexdigest()


def patched(place: Path, file: str, text: str) -> str:
    """The hash a skill's folder would have with one file changed. Raises BadInput where it would not be valid."""
    with tempfile.TemporaryDirectory() as folder:
        made = _copied(place, Path(folder) / place.name)
        _write(made, file, text)
        return folder_hash(made)


def apply(place: Path, own: Path, file: str, text: str, due: str) -> None:
    """Put a skill with one file changed into the PM's folder, whole or not at all. due: the hash it must have.

    Raises BadInput where it would have another, or would not be valid.
    """
    with tempfile.TemporaryDirectory(dir=_made(own.parent)) as folder:
        new = _copied(place, Path(folder) / place.name)
        _write(new, file, text)
        if folder_hash(new) != due:
            raise BadInput("hash", f"the skill {place.name} has changed since it was proposed", "propose it again")
        kept, target = _revisions(own, place.name), _made(own) / place.name
        number = len(list(kept.iterdir()))
        if target.exists():
            target.replace(kept / f"{number:04d}-{folder_hash(target)[:12]}")
        else:
            (kept / f"{number:04d}-{NONE}").mkdir()
        new.replace(target)


def back(own: Path, skill: str) -> str:
    """Undo the last change of a skill; the hash it has now, or `none` where only the one that comes along is left.

    Raises BadInput where there is nothing to undo.
    """
    kept = _revisions(own, skill)
    last = max(kept.iterdir(), default=None)
    if last is None:
        raise BadInput("skill", f"{skill[:60]!r} has no earlier revision", "see pitlake forge doctor")
    shutil.rmtree(own / skill)
    if last.name.endswith(NONE):
        last.rmdir()
        return NONE
    last.replace(own / skill)
    return folder_hash(own / skill)


def _write(place: Path, file: str, text: str) -> None:
    target = (place / file).resolve()
    if not target.is_relative_to(place.resolve()):
        raise BadInput("file", f"{file[:60]!r} lies outside of the skill", "name a file in its folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    if problems := validate(place):
        raise BadInput("skill", f"{place.name} would not be valid: {problems[0]}", "mend the patch")


def _copied(place: Path, to: Path) -> Path:
    return Path(shutil.copytree(place, to, ignore=shutil.ignore_patterns("__pycache__")))


def _revisions(own: Path, skill: str) -> Path:
    return _made(own.parent / f"{own.name}-revisions" / skill)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
