"""docs/forge.md: the record it shows is one. Its code is run with that of the other pages."""

import re
from pathlib import Path

from forge.records import KINDS, parse, render

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "forge.md").read_text()


def test_the_pages_record_is_one():
    (text,) = re.findall(r"^```\n(# V.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert render(parse(KINDS["views"], text)) == text
