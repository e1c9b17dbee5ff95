"""The project's wording: names say what they hold, and prose reads like other libraries' documentation."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("pitlake", "forge", "assets", "checks", "resources", "local_servers", "pipelines", "sample", "scripts")
# A bare participle or pronoun says neither what a value is nor what it is for.
EMPTY_NAMES = re.compile(
    r"told|known|asked|found|kept|given|held|one|shown|made|said|listed|named|stated|wanted|written|opened|begun"
)
ODD_PHRASES = re.compile(
    r"\b(?:for ever|whoever|nobody|[Bb]y then|of then|told (?:of|by|from|twice|otherwise)"
    r"|(?:is|are|was|were) told\b(?! apart)|tells? of|stands? beside|lies? beside|stand(?:s|ing)? in for"
    r"|is none of ours|befell)\b"
)


def empty_names(source: str) -> list[str]:
    """Return the assigned names and parameters that say nothing, with their lines."""
    names = []
    for node in ast.walk(ast.parse(source)):
        stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        name = node.id if stored else node.arg if isinstance(node, ast.arg) else ""
        if EMPTY_NAMES.fullmatch(name):
            names.append(f"{node.lineno}: {name}")
    return names


def odd_phrases(text: str) -> list[str]:
    """Return the lines of a text with a phrase that its readers would not use."""
    return [line.strip() for line in text.splitlines() if ODD_PHRASES.search(line)]


def prose_of(path: Path) -> str:
    """Return a page's text, or the strings and docstrings of a module."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return text
    constants = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return "\n".join(value for value in constants if isinstance(value, str))


def prose_files(place: str) -> list[Path]:
    """Return a page, or a folder's modules, pages and templates; the sample's Markdown is data of its world."""
    if place.endswith(".md"):
        return tracked(place)
    return tracked(f"{place}/*.py", f"{place}/*.html", *([] if place == "sample" else [f"{place}/*.md"]))


def tracked(*patterns: str) -> list[Path]:
    listing = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listing.stdout.split()]


@pytest.mark.parametrize("package", [*PACKAGES, ".claude"])
def test_names_are_meaningful(package):
    modules = tracked(f"{package}/*.py")
    assert modules
    assert [f"{path}:{name}" for path in modules for name in empty_names(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("place", [*PACKAGES, ".claude", "docs", "README.md", "CONTRIBUTING.md"])
def test_prose_is_plain(place):
    files = tracked(place) if place.endswith(".md") else prose_files(place)
    assert files
    assert [f"{path}: {line}" for path in files for line in odd_phrases(prose_of(path))] == []


def test_planted_empty_names_and_odd_phrases_are_reported():
    assert empty_names("def load(given, rows):\n    found = [one for one in rows]\n") == [
        "1: given",
        "2: found",
        "2: one",
    ]
    assert odd_phrases("The lake is told of it.\nRows are plain.\nWhoever asks, nobody knows.") == [
        "The lake is told of it.",
        "Whoever asks, nobody knows.",
    ]
