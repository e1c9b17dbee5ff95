"""Skills in the format of the Agent Skills standard: folders with a SKILL.md, found by name and loaded on demand.

Forge ships skills. A PM's folder adds skills and overrides Forge's by name. Underscores in names mean hyphens.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from pitlake.errors import BadInput, choice

OURS = Path(__file__).parents[1] / "skills"
MOST_DESCRIPTION = 80
WHOLE = ".whole"
"""A file that marks a folder as complete, so that Forge's own skills are not added."""
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
LONGEST_NAME, LONGEST_DESCRIPTION = 64, 1024
FIELDS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
"""The fields of the standard. Programs add more fields, such as Claude Code's user-invocable."""
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)


@dataclass(frozen=True)
class SkillMeta:
    """A skill's description, available before it is loaded."""

    name: str
    description: str
    path: Path
    allowed_tools: tuple[str, ...]

    @property
    def summary(self) -> str:
        """The start of the description, on one line."""
        return " ".join(self.description.split())[:MOST_DESCRIPTION]


@dataclass(frozen=True)
class LoadedSkill:
    """A whole skill. templates, references: file name to text. scripts: file name to how to run it."""

    name: str
    prompt: str
    allowed_tools: tuple[str, ...]
    base_path: Path
    templates: Mapping[str, str]
    references: Mapping[str, str]
    scripts: Mapping[str, str]


class SkillLoader:
    """The available skills. own: the PM's folder. Raises BadInput with the file of an unreadable skill."""

    def __init__(self, own: Path | None = None) -> None:
        folders = (own,) if own and (own / WHOLE).exists() else (OURS, own)
        skills = [
            _read(place)
            for folder in folders
            if folder and folder.is_dir()
            for place in sorted(file.parent for file in folder.glob("*/SKILL.md"))
        ]
        self.index = dict(sorted({meta.name: meta for meta in skills}.items()))

    def resolve_name(self, name: str) -> str:
        """Return a skill's name, given the name with hyphens or underscores."""
        return name.replace("_", "-")

    def meta(self, name: str) -> SkillMeta:
        """Return a skill's description without loading it. Raises BadInput for an unknown name."""
        skill = self.index.get(self.resolve_name(name))
        if skill is None:
            raise BadInput("skill", f"there is no skill {name[:60]!r}", choice(name, self.index))
        return skill

    def load(self, name: str) -> LoadedSkill:
        """Load a whole skill. Raises BadInput for an unknown name."""
        meta, scripts = self.meta(name), dict[str, str]()
        for file, source in _texts(meta.path / "scripts").items():
            if file.endswith(".py"):
                try:
                    scripts[file] = ast.get_docstring(ast.parse(source)) or ""
                except SyntaxError:
                    scripts[file] = ""
        return LoadedSkill(
            name=meta.name,
            prompt=_FRONT.sub("", _text(meta.path / "SKILL.md"), count=1).strip(),
            allowed_tools=meta.allowed_tools,
            base_path=meta.path,
            templates=_texts(meta.path / "templates"),
            references=_texts(meta.path / "references"),
            scripts=scripts,
        )

    def sha256(self) -> str:
        """Return the hash of all skills' files, including their names."""
        digest = sha256()
        for name, meta in self.index.items():
            for path in sorted(
                file for file in meta.path.rglob("*") if file.is_file() and "__pycache__" not in file.parts
            ):
                digest.update(f"{name}/{path.relative_to(meta.path).as_posix()}\0".encode())
                digest.update(sha256(path.read_bytes()).digest())
        return digest.hexdigest()


def check_skill(place: Path) -> None:
    """Check a skill's folder against the Agent Skills standard, which allows no other fields. Raises BadInput."""
    _read(place)
    if unknown := sorted(map(str, _fields(place / "SKILL.md").keys() - FIELDS)):
        raise BadInput("skills", f"{place.name} has the field {unknown[0][:60]!r}", choice(unknown[0], FIELDS))


def _read(place: Path) -> SkillMeta:
    file = place / "SKILL.md"
    fields = _fields(file)
    name, description = fields.get("name"), fields.get("description")
    if name != place.name or not NAME.fullmatch(place.name) or len(place.name) > LONGEST_NAME:
        problem = f"{file}: name {str(name)[:LONGEST_NAME]!r} is not the name of its folder"
        raise BadInput("skills", problem, f"use letters, digits, hyphens, at most {LONGEST_NAME}")
    if not isinstance(description, str) or not description.strip():
        raise BadInput("skills", f"{file}: description is missing", "say what the skill does and when to use it")
    if len(description) > LONGEST_DESCRIPTION:
        problem = f"{file}: description has {len(description):,} characters"
        raise BadInput("skills", problem, f"use at most {LONGEST_DESCRIPTION:,}")
    tools = fields.get("allowed-tools") or ""
    if not isinstance(tools, str):
        raise BadInput("skills", f"{file}: allowed-tools is not a string", "separate them by spaces: read search fetch")
    return SkillMeta(place.name, description.strip(), place, tuple(tools.replace(",", " ").split()))


def _fields(file: Path) -> dict[Any, Any]:
    front_matter = _FRONT.match(_text(file))
    try:
        fields: Any = yaml.safe_load(front_matter[1]) if front_matter else None
    except yaml.YAMLError:
        fields = None
    if not isinstance(fields, dict):
        raise BadInput("skills", f"{file} has no front matter", "start it with ---, name, description and ---")
    return fields


def _texts(folder: Path) -> dict[str, str]:
    return {file.name: _text(file) for file in sorted(folder.iterdir()) if file.is_file()} if folder.is_dir() else {}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput("skills", f"cannot read {file} ({type(problem).__name__})", "repair the file") from None
