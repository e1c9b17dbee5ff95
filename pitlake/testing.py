"""Helpers for tests of your own code: `assert_point_in_time`, also as the pytest fixture `pitlake_check`.

Import it in a test suite's conftest.py; nothing else in pitlake needs pytest.
"""

from collections.abc import Callable
from typing import Any

import pytest

from pitlake.check import LookAheadReport, check


def assert_point_in_time(function: Callable[..., Any] | str, since: str, until: str, **options: Any) -> LookAheadReport:
    """Assert that no result of a function depends on unpublished rows; arguments as for `pitlake.check.check`.

    Raises AssertionError with every finding, and the errors of `check`.
    """
    report = check(function, since, until, **options)
    if report.findings:
        raise AssertionError("\n".join([str(report), *map(str, report.findings)]))
    return report


@pytest.fixture
def pitlake_check() -> Callable[..., LookAheadReport]:
    """The function `assert_point_in_time` as a fixture."""
    return assert_point_in_time
