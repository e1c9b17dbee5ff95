"""`every` is `all` for an iterable that must not be empty. `all` of an empty iterable is true, so a test could pass
without checking anything.
"""

from collections.abc import Iterable


def every(verdicts: Iterable[object]) -> bool:
    """Return whether all verdicts are true; there must be at least one."""
    result = list(verdicts)
    assert result, "there was nothing to judge"
    return all(result)
