"""The site of docs/: it has every page and, if `make site` installed its tools, loads nothing from the network."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from tests.every import every
from tests.house.conftest import ROOT

TOOLS = ROOT / ".pitlake/site-tools"


def pages(entry) -> list[str]:
    """Return the files that a part of the navigation lists."""
    if isinstance(entry, str):
        return [entry]
    return [page for each in (entry.values() if isinstance(entry, dict) else entry) for page in pages(each)]


def test_the_sites_navigation_has_every_page():
    output = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    generated = {page for page in output if page.startswith("datasets/") and page != "datasets/README.md"}
    listing = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    assert sorted(listing) == sorted(output - generated)


@pytest.mark.long
@pytest.mark.skipif(not (TOOLS / "node_modules").exists(), reason="mkdocs-material is not installed: make site")
def test_the_site_builds_without_warnings_and_loads_nothing_external(tmp_path):
    env = os.environ | {"PYTHONPATH": str(TOOLS), "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    message = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert message.returncode == 0, message.stderr
    built = [path.read_text() for path in (tmp_path / "site").rglob("*.html")]
    assert len(built) > 60
    loaded = [
        tag for text in built for tag in re.findall(r"<(?:script|img|iframe)[^>]*\bsrc=[\"']?https?://[^>]*>", text)
    ]
    loaded += [
        tag for text in built for tag in re.findall(r"<link[^>]*https?://[^>]*>", text) if "canonical" not in tag
    ]
    assert loaded == []
    assert every("assets/iframe-worker.js" in text for text in built)
    assert (tmp_path / "site/assets/iframe-worker.js").stat().st_size > 0
