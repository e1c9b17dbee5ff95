"""Skills by the Agent Skills standard: folders with a SKILL.md, found by name, loaded when they are asked for.

Ours come with Forge. A PM's own folder overrides them by name and adds to them. Names have hyphens; the same with
underscores is an alias.
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
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)


@dataclass(frozen=True)
class SkillMeta:
    """What is known of a skill before it is loaded."""

    name: str
    description: str
    path: Path
    allowed_tools: tuple[str, ...]

    @property
    def short(self) -> str:
        """The description's first characters, on one line."""
        return " ".join(self.description.split())[:MOST_DESCRIPTION]


@dataclass(frozen=True)
class LoadedSkill:
    """All of a skill. templates, references: file name to text; scripts: file name to how it is run."""

    name: str
    prompt: str
    allowed_tools: tuple[str, ...]
    base_path: Path
    templates: Mapping[str, str]
    references: Mapping[str, str]
    scripts: Mapping[str, str]


class SkillLoader:
    """The skills in force. own: the PM's folder. Raises BadInput naming the file of a skill that can't be read."""

    def __init__(self, own: Path | None = None, ours: Path = OURS) -> None:
        found = [meta for folder in (ours, own) if folder and folder.is_dir() for meta in _scanned(folder)]
        self.index = dict(sorted({meta.name: meta for meta in found}.items()))

    def catalog(self) -> str:
        """A line a skill, for the system prompt."""
        return "\n".join(f"  {one.name}: {one.short}" for one in self.index.values())

    def named(self, name: str) -> str:
        """A skill's own name, for that or its alias with underscores."""
        return name.replace("_", "-")

    def meta(self, name: str) -> SkillMeta:
        """A skill. Raises BadInput naming those there are."""
        found = self.index.get(self.named(name))
        if found is None:
            raise BadInput("skill", f"there is no skill {name[:60]!r}", choice(name, self.index))
        return found

    def load(self, name: str) -> LoadedSkill:
        """All of a skill. Raises BadInput for one there is none of."""
        meta = self.meta(name)
        scripts = {file: _doc(text) for file, text in _texts(meta.path / "scripts").items() if file.endswith(".py")}
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
        """Of every file of the skills in force, their names included."""
        told = sha256()
        for name, meta in self.index.items():
            for path in sorted(one for one in meta.path.rglob("*") if one.is_file() and "__pycache__" not in one.parts):
                told.update(f"{name}/{path.relative_to(meta.path).as_posix()}\0".encode())
                told.update(sha256(path.read_bytes()).digest())
        return told.hexdigest()


def _scanned(folder: Path) -> list[SkillMeta]:
    places = sorted(one.parent for one in folder.glob("*/SKILL.md"))
    return [_read(place) for place in places]


def _read(place: Path) -> SkillMeta:
    file = place / "SKILL.md"
    found = _FRONT.match(_text(file))
    try:
        told: Any = yaml.safe_load(found[1]) if found else None
    except yaml.YAMLError:
        told = None
    if not isinstance(told, dict):
        raise BadInput("skills", f"{file} has no front matter", "begin it with ---, name, description and --- again")
    name, description = told.get("name"), told.get("description")
    if name != place.name or not NAME.fullmatch(place.name):
        raise BadInput("skills", f"{file}: name {str(name)[:60]!r} is not its folder's", "use letters, digits, hyphens")
    if not isinstance(description, str) or not description.strip():
        raise BadInput("skills", f"{file}: description is missing", "say what the skill does and when to use it")
    tools = told.get("allowed-tools") or ""
    if not isinstance(tools, str):
        raise BadInput("skills", f"{file}: allowed-tools is not a text", "write them with blanks: read search fetch")
    return SkillMeta(place.name, description.strip(), place, tuple(tools.replace(",", " ").split()))


def _texts(folder: Path) -> dict[str, str]:
    return {one.name: _text(one) for one in sorted(folder.iterdir()) if one.is_file()} if folder.is_dir() else {}


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise BadInput("skills", f"{file} can't be read ({type(problem).__name__})", "mend the file") from None


def _doc(source: str) -> str:
    try:
        return ast.get_docstring(ast.parse(source)) or ""
    except SyntaxError:
        return ""
