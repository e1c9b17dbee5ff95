"""Every interface refuses a text that is too long with the same sentence, before it opens anything."""

import io
import sys

import pytest

from pitlake import cli
from pitlake.session.arguments import LONGEST_QUERY
from tests.doors.conftest import AS_OF
from tests.doors.mcp_client import ALL_NEWS, refusal

TOO_LONG = ALL_NEWS.ljust(LONGEST_QUERY + 1)
REFUSAL = f"query: longer than {LONGEST_QUERY} bytes; give long lists as params, or rows with load()"


def test_a_too_long_text_is_refused_over_mcp(lake):
    assert refusal(lake, "query", sql=TOO_LONG) == REFUSAL


@pytest.mark.parametrize("inputs", ["argument", "stdin"])
def test_a_too_long_text_is_refused_on_the_command_line(lake, monkeypatch, capsys, inputs):
    monkeypatch.setattr(sys, "stdin", io.StringIO(TOO_LONG + " " * 1_000_000))
    text = "-" if inputs == "stdin" else TOO_LONG
    assert cli.invoke(["query", "--lake", str(lake), "--as-of", AS_OF, text]) == 2
    assert REFUSAL in capsys.readouterr().err
