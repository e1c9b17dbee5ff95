"""Fixtures of the lake's tests."""

import pytest

from pitlake.lake import Lake


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "lake")
