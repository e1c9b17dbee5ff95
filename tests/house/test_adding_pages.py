"""docs/adding-a-dataset.md and adding-a-source.md, applied to one fresh checkout: lint, types and tests pass."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COPIED = (
    "pitlake",
    "assets",
    "checks",
    "resources",
    "pipelines",
    "sample",
    "scripts",
    "sql",
    "docs",
    "tests",
    ".claude",
)
CODE = re.compile(r"`([\w/]+\.py)`.*?```python\n(.*?)```", re.DOTALL)
PACKAGE = re.compile(r"`([\w/]+)/\w+\.py`, next to an `(__init__\.py)` that contains `(\S.*?)`")
ANSWER = re.compile(r"`(sample/[\w/.]+\.json)`.*?```json\n(.*?)```", re.DOTALL)
QUIRKS = re.compile(r"`(sample/quirks.yaml)`.*?```yaml\n(.*?)```", re.DOTALL)
PAGES = {"adding-a-dataset": 2, "adding-a-source": 4}
"""The number of Python files on each page."""
TESTS = ["tests/assets/test_contracts.py", "tests/providers/test_faults.py", "tests/providers/test_conservation.py"]
OF_THE_NEW_LABEL = ["tests/house/test_graph_page.py", "tests/doors/test_catalogue_pages.py"]
NAMES = ("buybacks", "port_calls")


@pytest.fixture
def checkout(root, tmp_path):
    """A copy of the code and of mypy's cache, which identifies files by their content."""
    if (root / ".mypy_cache").exists():
        shutil.copytree(root / ".mypy_cache", tmp_path / ".mypy_cache")
    for name in COPIED:
        shutil.copytree(root / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(root / name, tmp_path)
    return tmp_path


def typed(page: str, checkout: Path) -> list[str]:
    """Write the files of a page, and return the paths of its Python files."""
    text = (checkout / "docs" / f"{page}.md").read_text()
    code = CODE.findall(text)
    packages = [(f"{folder}/{name}", content + "\n") for folder, name, content in PACKAGE.findall(text)]
    for path, content in (*code, *packages, *ANSWER.findall(text)):
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout / path).write_text(content)
    for path, cases in QUIRKS.findall(text):
        world = (checkout / path).read_text()
        (checkout / path).write_text(world.replace("quirks:\n", f"quirks:\n{cases}", 1))
    return [path for path, _ in (*code, *packages)]


@pytest.mark.long
def test_code_typed_from_the_adding_pages_lints_type_checks_and_passes(checkout):
    paths = []
    for page, python in PAGES.items():
        output = typed(page, checkout)
        assert len(output) == python
        paths += output

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *arguments], cwd=checkout, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("ruff", "check", *paths)
    run("ruff", "format", "--check", *paths)
    run("mypy", *paths)
    run("scripts.generate_docs")
    run("scripts.generate_docs", "--check")
    passed = run("pytest", "-v", "-n", "0", "-p", "no:cacheprovider", *TESTS, "-k", " or ".join(NAMES))
    for name in NAMES:
        assert re.search(rf"{name}\]\S* PASSED", passed)
    run("pytest", "-n", "0", "-p", "no:cacheprovider", *OF_THE_NEW_LABEL)
