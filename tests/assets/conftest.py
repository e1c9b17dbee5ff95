"""What the tests of extraction share: the facts of a run long after every record, a toy graph."""

import pytest

from assets.extraction import RunFacts
from tests.toys import OBSERVED, ToyGraph


@pytest.fixture(scope="session")
def run() -> RunFacts:
    return RunFacts(observed_at=OBSERVED)


@pytest.fixture
def toy() -> ToyGraph:
    return ToyGraph()
