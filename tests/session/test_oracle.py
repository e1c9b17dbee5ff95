"""Random rows, files and instants, compared with the condition `available_at <= T` in a plain loop."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.session.toylake import CATALOGUE, T, ToyLake, row
from tests.sessions import open_at

SHIFTS = st.one_of(
    st.integers(-3, 3), st.integers(-3000, 3000), st.integers(-100 * 86_400_000_000, 100 * 86_400_000_000)
).map(lambda count: timedelta(microseconds=count))
ROWS = st.lists(st.tuples(st.sampled_from("abcde"), SHIFTS, st.integers(0, 9)), max_size=12)


def visible(rows, as_of):
    return sorted((track, at, position) for track, at, position in rows if at <= as_of)


@pytest.mark.parametrize("isolation", ["process", "in_process"])
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(files=st.lists(ROWS.filter(bool), max_size=4), shift=SHIFTS)
def test_a_session_shows_exactly_the_rows_available_at_or_before_its_instant(
    tmp_path_factory, cut_cache, isolation, files, shift
):
    lake, as_of = ToyLake(tmp_path_factory.mktemp("lake")), T + shift
    files = [[(track, T + at, position) for track, at, position in rows] for rows in files]
    for rows in files:
        lake.add("charts", [row(*each) for each in rows])
    rows = [each for file in files for each in file]
    with open_at(lake.snapshot, as_of, catalogue=CATALOGUE, cut_cache=cut_cache, isolation=isolation) as session:
        result_rows = session.sql("SELECT track, available_at, position FROM charts_revisions").rows()
        assert sorted(result_rows) == visible(rows, as_of)
        result_rows = session.sql("SELECT track, available_at FROM charts").rows()
        by_age = sorted(visible(rows, as_of), key=lambda each: each[1])
        assert sorted(result_rows) == sorted({track: at for track, at, _ in by_age}.items())
        watermark, count = session.sql("SELECT watermark, rows FROM lake_info WHERE dataset = 'charts'").rows()[0]
        assert count == len(visible(rows, as_of))
        assert watermark == max((at for _, at, _ in visible(rows, as_of)), default=None)
