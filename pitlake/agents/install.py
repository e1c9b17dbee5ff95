"""Installs, checks and removes the kit in a project. It never overwrites the user's own files.

.claude/pitlake-kit.json is written first. It records each file's hash and the additions to settings.
.claude/pitlake-python names the Python whose pitlake the project uses.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pitlake import __version__
from pitlake.agents import kit, settings
from pitlake.errors import BadInput, PitlakeError
from pitlake.recorder import write_whole

RECORD = ".claude/pitlake-kit.json"
PYTHON = ".claude/pitlake-python"
WRITES = {"tool_name": "mcp__neo4j-cypher__write_neo4j_cypher", "tool_input": {"query": "CREATE (n)"}}


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of an installation. files: hashes by path. added: additions to settings, by path. created: settings
    files that did not exist.
    """

    version: str
    files: dict[str, str]
    added: dict[str, Any]
    created: list[str]


def install(project: Path) -> None:
    """Install or update the kit in a project. Raises BadInput with conflicting files; then nothing is written."""
    if project == kit.home():
        raise BadInput("--dir", "is the kit's own checkout", "give the folder of another project")
    if not project.is_dir():
        raise BadInput("--dir", f"{project} is not a folder", "create it, or give the folder of your project")
    before, ours = recorded(project), kit.files() | {PYTHON: f"{sys.executable}\n".encode()}
    # A file may be written if it is missing, has these contents already, or is as the last installation wrote it.
    in_the_way = [
        name
        for name, text in ours.items()
        if (present := _hash_of(project / name)) not in (None, _hash(text))
        and (before is None or before.files.get(name) != present)
    ]
    whole, added = {}, {}
    for name, kit_settings in kit.joined().items():
        own = _settings(project, name)
        try:
            whole[name], fresh = settings.join(
                settings.part(own, before.added.get(name, {})) if before else own, kit_settings
            )
        except settings.Conflict as conflict:
            in_the_way.append(f"{name} ({conflict})")
        else:
            added[name] = fresh
    if in_the_way:
        problem = f"already has: {', '.join(sorted(in_the_way))}"
        raise BadInput("--dir", problem, "move or rename these, and install again; nothing was written")
    created = [name for name in kit.JOINED if not (project / name).exists() or (before and name in before.created)]
    hashes = {name: _hash(text) for name, text in ours.items()}
    _write(project / RECORD, _json(asdict(Record(version=__version__, files=hashes, added=added, created=created))))
    for name, was in before.files.items() if before else ():
        if name not in ours:
            _remove(project / name, was)
    for name, text in ours.items():
        _write(project / name, text)
    for name, content in whole.items():
        _write(project / name, _json(content))


def uninstall(project: Path) -> list[str]:
    """Remove the kit: its files and what it added to settings. Return the files that the user changed, which are kept.

    Raises BadInput if it is not installed.
    """
    record = _needed(project)
    changed_files = [name for name in record.files if not _remove(project / name, record.files[name])]
    for name, added in record.added.items():
        left = settings.part(_settings(project, name), added)
        if left or name not in record.created:
            _write(project / name, _json(left))
        else:
            (project / name).unlink(missing_ok=True)
    (project / RECORD).unlink()
    for parent in sorted({parent for name in record.files for parent in Path(name).parents}, reverse=True):
        folder = project / parent
        if folder == project or not folder.is_dir():
            continue
        cache = folder / "__pycache__"
        for compiled in cache.glob("*.pyc") if cache.is_dir() else ():
            compiled.unlink()
        for emptied in (cache, folder):
            if emptied.is_dir() and not any(emptied.iterdir()):
                emptied.rmdir()
    return changed_files


def check(project: Path) -> list[str]:
    """Return what is wrong with the kit in a project. The check runs a hook and lake-server.

    Raises BadInput if it is not installed.
    """
    record = _needed(project)
    wrong = [f"{name} was changed" for name, was in record.files.items() if _hash_of(project / name) != was]
    for name, kit_settings in kit.joined().items():
        if not settings.holds(_settings(project, name), kit_settings):
            wrong.append(f"{name} lacks settings of the kit: pitlake agents install adds them")
    if record.version != __version__:
        wrong.append(
            f"the kit is from pitlake {record.version}, but this is {__version__}: pitlake agents install updates it"
        )
    guard = ["python3", "-IS", str(project / ".claude/hooks/pit_guard.py")]
    if '"deny"' not in _said(guard, project, json.dumps(WRITES)):
        wrong.append("python3 can't run .claude/hooks/pit_guard.py: it must be 3.9 or newer")
    if not _said(["sh", str(project / ".claude/lake-server"), "--find"], project):
        wrong.append(
            "lake-server can't find pitlake: pip install 'pitlake[mcp]' in the project's .venv, or install again"
        )
    return wrong


def recorded(project: Path) -> Record | None:
    """Return what was installed in a project; None if nothing was. Raises PitlakeError if the record cannot be read."""
    try:
        return Record(**json.loads((project / RECORD).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        raise PitlakeError(f"{project / RECORD} can't be read; remove the kit by hand") from None


def _needed(project: Path) -> Record:
    record = recorded(project)
    if record is None:
        raise BadInput(
            "--dir", f"no agent kit was installed in {project}", "install it with pitlake agents install --dir"
        )
    return record


def _settings(project: Path, name: str) -> dict[str, Any]:
    try:
        content = json.loads((project / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise BadInput("--dir", f"{name} is not a JSON object", "correct the file first; nothing was written")
    return content


def _remove(path: Path, was: str) -> bool:
    """Remove a file unless the user changed it; return whether it is gone."""
    if _hash_of(path) not in (None, was):
        return False
    path.unlink(missing_ok=True)
    return True


def _write(path: Path, text: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text)


def _said(command: list[str], project: Path, stdin: str = "") -> str:
    with tempfile.TemporaryDirectory() as folder:
        settings = {"CLAUDE_PROJECT_DIR": str(project), "PITLAKE_HOOK_LOG": f"{folder}/hooks.jsonl"}
        try:
            done = subprocess.run(
                command, input=stdin, cwd=project, env=os.environ | settings, capture_output=True, text=True,
                timeout=60, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip()


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _hash_of(path: Path) -> str | None:
    return _hash(path.read_bytes()) if path.exists() else None
