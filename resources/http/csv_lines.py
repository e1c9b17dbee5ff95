"""CSV answers, read so that an unclosed quote can't make the lines after it vanish.

Pure.
"""

import csv
from collections.abc import Iterator
from io import StringIO

from pitlake.errors import Unparsable
from resources.http.capture import Capture


def cells(capture: Capture) -> Iterator[list[str]]:
    """The lines of an answer, header first, blank ones left out; each may be shorter or longer than the header.

    No source here writes a line break into a cell: one is a sign of lines that were swallowed. Raises Unparsable for it
    and for what is not CSV; the lines before it have been handed out then.
    """
    try:
        for line in csv.reader(StringIO(capture.text())):
            if any("\n" in cell or "\r" in cell for cell in line):
                raise Unparsable(capture.evidence, "a cell holds a line break")
            if line:
                yield line
    except csv.Error:
        raise Unparsable(capture.evidence, "the answer is not CSV") from None
