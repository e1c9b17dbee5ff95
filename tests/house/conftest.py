"""Shared by the tests of the project itself: the checkout and its metadata."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.newcomer import demo, newcomer

__all__ = ["demo", "newcomer"]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="session")
def types_checked(root) -> subprocess.CompletedProcess:
    """The output of mypy for the whole project. Its cache is left in .mypy_cache, for copies of the house to begin
    with.
    """
    env = os.environ | {"PYTHONPATH": "."}
    command = [sys.executable, "-m", "mypy"]
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=840, check=False)
