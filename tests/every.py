"""`every` is `all` for an iterable that must not be empty: `all` of nothing is true, so a test with it may check
nothing.
"""

from collections.abc import Iterable


def every(verdicts: Iterable[object]) -> bool:
    """Return whether there are verdicts and all of them are true."""
    result = list(verdicts)
    assert result, "there was nothing to judge"
    return all(result)
