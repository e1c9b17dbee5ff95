"""The bench reports which aims are met, and saves its figures."""

import json

import pytest

from bench import __main__ as bench
from bench.figures import figure, met


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"value": 5.0}, None),
        ({"value": 5.0, "aim": "≤ 5"}, True),
        ({"value": 5.1, "aim": "≤ 5"}, False),
        ({"value": 5.0, "aim": "≥ 5.5"}, False),
        ({"value": 9.0, "ratio": 1.2, "aim": "≤ 1.3"}, True),
        ({"value": 1.0, "ratio": 1.4, "aim": "≤ 1.3"}, False),
        ({"value": 9.0, "ratio": 0.1, "aim": "≤ 5 ms"}, False),
        ({"value": 4.0, "ratio": 9.0, "aim": "≤ 5 ms"}, True),
    ],
)
def test_an_aim_is_compared_with_the_ratio_unless_it_has_a_unit(reply, expected):
    value = reply.pop("value")
    assert met(figure("what", value, "ms", **reply)) is expected


def test_the_bench_saves_figures_by_part_and_reports_missed_aims(tmp_path, monkeypatch, capsys):
    parts = {"gate": [figure("alone", 1.0, "s", aim="≤ 0.5")], "open": [figure("new T", 2.0, "ms")]}
    for name, figures in parts.items():
        monkeypatch.setattr(f"bench.{name}.run", lambda figures=figures, **_: figures)
    remaining = tmp_path / "figures.json"
    assert bench.main(["gate", "open", "--keep", str(remaining)]) == 0
    assert json.loads(remaining.read_text())["parts"] == parts
    assert "0 of 1 aims met\nmissed: alone (≤ 0.5)" in capsys.readouterr().out


def test_an_unknown_part_is_refused_in_one_line(capsys):
    assert bench.main(["nowhere"]) == 2
    assert capsys.readouterr().err.startswith("part: there is no nowhere; choose from ")
