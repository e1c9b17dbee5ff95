"""AsOfBench does not import pitlake, and reads its kinds of timestamps like `pitlake.times`."""

import re

import pytest

from asofbench.model import written
from asofbench.reading import careful
from pitlake.clock import instant
from tests.times.cases import CLOCK_TIMES, DAYS, MIDNIGHTS, NEW_YORK

CLOCK = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(Z|[+-]\d\d:?(?:\d\d)?)?", re.ASCII)


def stamps():
    """Yield cases in AsOfBench's formats: days and times of New York, and times with an offset, to the microsecond."""
    for case in DAYS:
        if case.form == "iso" and case.zone in ("", NEW_YORK):
            yield pytest.param(case.spelled, "date", case.end, id=case.spelled)
    for case in (*MIDNIGHTS, *CLOCK_TIMES):
        shape = CLOCK.fullmatch(case.spelled) if case.form == "iso" else None
        if shape and (shape[1] or case.zone in ("", NEW_YORK)):
            stamp = "instant" if shape[1] else "new_york"
            yield pytest.param(case.spelled, stamp, case.instant, id=f"{case.spelled} in {case.zone}")


@pytest.mark.parametrize(("spelled", "stamp", "expected"), list(stamps()))
def test_asofbench_reads_a_stamp_as_pitlake_does(spelled, stamp, expected):
    assert careful({"stated": spelled, "stamp": stamp}) == instant(expected)
    assert careful({"stated": written(instant(expected))}) == instant(expected)
