"""docs/check.md and docs/study.md: their commands, run from top to bottom."""

import re
import shutil

import pytest

from pitlake import cli
from tests.cli.conftest import ROOT
from tests.doors.conftest import build

FENCE = re.compile(r"^```(python|sh)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    return build(tmp_path_factory.mktemp("pages") / "lake").root


@pytest.mark.parametrize(("page", "codes"), [("check.md", [0, 1]), ("study.md", [0])])
def test_the_examples_of_a_documentation_page_run_with_the_expected_result(
    page, codes, filled, tmp_path, monkeypatch, capfd
):
    shutil.copytree(filled, tmp_path / ".pitlake/lake")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PITLAKE_LAKE", raising=False)
    exits = []
    for language, text in FENCE.findall((ROOT / "docs" / page).read_text()):
        if language == "python":
            exec(text, {})
        else:
            exits += [cli.invoke(line.split()[1:]) for line in text.splitlines()]
    assert exits == codes
    assert ("score depends on rows" if page == "check.md" else "deflated") in capfd.readouterr().out
