"""`pitlake report`: writes the pages, prints their location, and refuses versions that it cannot compare."""

import json

from pitlake.report import site


def test_the_report_is_written_where_it_is_asked_for(pitlake, tmp_path):
    said = pitlake("report", "--output", str(tmp_path / "report"))
    assert said.out == f"{tmp_path / 'report' / site.INDEX}\n"
    told = json.loads((tmp_path / "report" / site.NUMBERS).read_text())
    assert (told["version"], told["since"], told["datasets"]["news"]["rows"]) == (2, 1, 3)


def test_an_earlier_version_is_compared_with_a_named_one(pitlake, tmp_path):
    pitlake("report", "--output", str(tmp_path), "--version", "1", "--since", "0")
    told = json.loads((tmp_path / site.NUMBERS).read_text())
    assert (told["version"], told["since"], told["datasets"]["news"]["since"]["rows"]) == (1, 0, 2)


def test_a_base_after_the_version_is_refused(pitlake, tmp_path):
    said = pitlake("report", "--output", str(tmp_path), "--version", "1", "--since", "2")
    assert said.code == 2
    assert "name an earlier version" in said.err
