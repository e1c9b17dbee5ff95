"""Fixtures shared by the extraction tests: the facts of a run long after every record, and a toy graph."""

import pytest

from assets.extraction import RunFacts
from tests.toys import OBSERVED, ToyGraph


@pytest.fixture(scope="session")
def run() -> RunFacts:
    return RunFacts(observed_at=OBSERVED)


@pytest.fixture
def toy() -> ToyGraph:
    return ToyGraph()
