"""The bench says which aims are met, keeps its figures, and draws them."""

import json
from xml.etree import ElementTree as ET

import pytest

from bench import __main__ as bench
from bench.curves import drawn
from bench.curves import main as draw
from bench.figures import figure, met


@pytest.mark.parametrize(
    ("told", "expected"),
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
def test_an_aim_is_the_ratio_s_or_the_value_s_where_it_has_a_unit(told, expected):
    value = told.pop("value")
    assert met(figure("what", value, "ms", **told)) is expected


def test_figures_are_kept_part_by_part_and_drawn(tmp_path, monkeypatch, capsys):
    points = [figure(f"open {at}", cost, "ms", curve="open", at=at) for at, cost in ((100, 2.0), (10_000, 40.0))]
    parts = {"gate": [figure("alone", 1.0, "s", aim="≤ 0.5")], "scale": points}
    for name, told in parts.items():
        monkeypatch.setattr(f"bench.{name}.run", lambda told=told, **_: told)
    kept = tmp_path / "figures.json"
    assert bench.main(["gate", "scale", "--keep", str(kept)]) == 0
    assert json.loads(kept.read_text())["parts"] == parts
    said = capsys.readouterr().out
    assert "0 of 1 aims met\nmissed: alone (≤ 0.5)" in said
    draw(str(kept), str(tmp_path))
    assert [path.name for path in tmp_path.glob("*.svg")] == ["scale-scale.svg"]
    picture = ET.fromstring((tmp_path / "scale-scale.svg").read_text())
    dots = [one for one in picture.iter() if one.tag.endswith("circle") and one.get("r") == "3"]
    (x1, y1), (x2, y2) = ((float(dot.get("cx")), float(dot.get("cy"))) for dot in dots)
    assert x1 < x2
    assert y1 > y2
    assert "10 k" in "".join(picture.itertext())
    assert drawn("gate", parts["gate"]) == ""


def test_a_part_that_is_not_there_is_one_line(capsys):
    assert bench.main(["nowhere"]) == 2
    assert capsys.readouterr().err.startswith("part: there is no nowhere; choose from ")
