"""Fixtures of the tests of the project itself: the checkout and its metadata."""

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
