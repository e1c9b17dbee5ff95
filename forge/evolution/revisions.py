"""Revisions of skills: a checked patch is applied to a copy in the PM's folder, and one step can be undone.

Earlier revisions are stored next to the folder, by number and hash, and are never changed.
"""

import shutil
import tempfile
from hashlib import sha256
from pathlib import Path

from forge.core.skill_loader import NAME, check_skill
from pitlake.errors import BadInput

NONE = "none"


def folder_hash(place: Path) -> str:
    """Return the SHA-256 of a skill's files, including their names."""
    digest = sha256()
    for path in sorted(file for file in place.rglob("*") if file.is_file() and "__pycache__" not in file.parts):
        digest.update(f"{path.relative_to(place).as_posix()}\0".encode() + sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def patched_hash(place: Path, file: str, text: str) -> str:
    """Return the hash of a skill's folder with one file changed. Raises BadInput if it would be invalid."""
    with tempfile.TemporaryDirectory() as folder:
        copy = _copy(place, Path(folder) / place.name)
        _write(copy, file, text)
        return folder_hash(copy)


def apply(place: Path, own: Path, file: str, text: str, expected: str) -> None:
    """Write a skill with one file changed to the PM's folder, completely or not at all. expected: the hash of the
    result.

    Raises BadInput if the hash differs or the skill would be invalid.
    """
    with tempfile.TemporaryDirectory(dir=_ensure_folder(own.parent)) as folder:
        new = _copy(place, Path(folder) / place.name)
        _write(new, file, text)
        if folder_hash(new) != expected:
            raise BadInput("hash", f"the skill {place.name} has changed since it was proposed", "propose it again")
        revisions = _ensure_folder(_revisions_folder(own, place.name))
        target = _ensure_folder(own) / place.name
        number = len(list(revisions.iterdir()))
        if target.exists():
            target.replace(revisions / f"{number:04d}-{folder_hash(target)[:12]}")
        else:
            (revisions / f"{number:04d}-{NONE}").mkdir()
        new.replace(target)


def undo(own: Path, skill: str) -> str:
    """Undo the last change to a skill. Return the skill's hash, or `none` if only the built-in skill is left.

    Raises BadInput if there is nothing to undo.
    """
    revisions = _revisions_folder(own, skill)
    last = max(revisions.iterdir(), default=None) if NAME.fullmatch(skill) and revisions.is_dir() else None
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
        raise BadInput("file", f"{file[:60]!r} is outside of the skill", "give a file in its folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    try:
        check_skill(place)
    except BadInput as invalid:
        raise BadInput("skill", f"{place.name} would not be valid: {invalid.problem}", "fix the patch") from None


def _copy(place: Path, to: Path) -> Path:
    return Path(shutil.copytree(place, to, ignore=shutil.ignore_patterns("__pycache__")))


def _revisions_folder(own: Path, skill: str) -> Path:
    return own.parent / f"{own.name}-revisions" / skill


def _ensure_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
