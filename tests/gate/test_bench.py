"""The gate's benchmark measures what it claims: both forms judge the same clean rows."""

import pytest

from bench import gate
from pitlake.gate.columnar import violations_in
from tests.every import every


def test_benchmark_figures_have_names_values_and_ratios_to_their_baselines():
    figures = gate.run(rows=400, items=100, runs=1)
    assert len({figure["name"] for figure in figures}) == len(figures) == 4
    assert every(figure["value"] > 0 for figure in figures)
    assert every((figure["baseline"] == "") == (figure["ratio"] is None) for figure in figures)
    assert [float(figure["aim"].split()[1]) for figure in figures[:2]] == [gate.AIM_ROWS, gate.AIM_RATIO]


def test_a_table_the_gate_refuses_is_not_measured():
    late = gate.facts(10).append_column("daily_stock", [[1.0] * 10])
    assert violations_in(late, gate.CUTOFF)
    for rate in (gate.columnar_rate, gate.item_rate):
        with pytest.raises(AssertionError):
            rate(late, 1)
