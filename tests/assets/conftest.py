"""What the tests of extraction share: the facts of a run long after every record of theirs."""

from datetime import datetime, timezone

import pytest

from assets.extraction import RunFacts


@pytest.fixture(scope="session")
def run() -> RunFacts:
    return RunFacts(observed_at=datetime(2026, 1, 1, tzinfo=timezone.utc))
