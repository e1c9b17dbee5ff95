"""Parses CSV answers so that an unclosed quote can't hide the lines after it. Pure."""

import csv
from collections.abc import Iterator
from io import StringIO

from pitlake.errors import Unparsable
from resources.http.capture import Capture


def cells(capture: Capture) -> Iterator[list[str]]:
    """Yield the lines of an answer, header first, without blank lines. Lines may be shorter or longer than the header.

    No source writes line breaks into cells, so a line break means that an unclosed quote joined lines. Raises
    Unparsable in this case and for invalid CSV, after yielding the earlier lines.
    """
    try:
        for line in csv.reader(StringIO(capture.text())):
            if any("\n" in cell or "\r" in cell for cell in line):
                raise Unparsable(capture.evidence, "a cell holds a line break")
            if line:
                yield line
    except csv.Error:
        raise Unparsable(capture.evidence, "the answer is not CSV") from None
