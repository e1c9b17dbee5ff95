"""`every`: all of something that is there. `all` of nothing is true: a test that asserts it may have judged nothing."""

from collections.abc import Iterable


def every(verdicts: Iterable[object]) -> bool:
    """Whether there are verdicts and all of them hold."""
    found = list(verdicts)
    assert found, "there was nothing to judge"
    return all(found)
