"""`pitlake report` writes the pages, prints their location, and refuses versions that it cannot compare."""

import json

from pitlake.report import site


def test_report_writes_to_the_output_folder(pitlake, tmp_path):
    message = pitlake("report", "--output", str(tmp_path / "report"))
    assert message.out == f"{tmp_path / 'report' / site.INDEX}\n"
    document = json.loads((tmp_path / "report" / site.NUMBERS).read_text())
    assert (document["version"], document["since"], document["datasets"]["news"]["rows"]) == (2, 1, 3)


def test_report_compares_a_chosen_version_with_a_chosen_base(pitlake, tmp_path):
    pitlake("report", "--output", str(tmp_path), "--version", "1", "--since", "0")
    document = json.loads((tmp_path / site.NUMBERS).read_text())
    assert (document["version"], document["since"], document["datasets"]["news"]["since"]["rows"]) == (1, 0, 2)


def test_a_base_after_the_version_is_refused(pitlake, tmp_path):
    message = pitlake("report", "--output", str(tmp_path), "--version", "1", "--since", "2")
    assert message.code == 2
    assert "name an earlier version" in message.err
