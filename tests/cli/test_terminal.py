"""The output of the command line on terminals of several widths, and without a command."""

import os
import pty
import subprocess
import sys
import termios
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.cells import cell_len

import pitlake
from pitlake.cli import render
from pitlake.cli.sessions import working
from pitlake.lake import Lake
from tests.cli.conftest import AFTER, CREATED, ROOT, article
from tests.every import every
from tests.kit import publish

WIDTHS = (80, 100, 160)


def shown(arguments: Sequence[str], columns: int, lake: Path) -> tuple[list[str], str]:
    """Return the lines of stdout on a terminal of this width, and all of stderr."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, columns))
    inputs = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [sys.executable, "-m", "pitlake", *arguments],
        cwd=ROOT, env={**inputs, "PITLAKE_LAKE": str(lake), "TERM": "dumb"},
        stdout=theirs, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        os.close(theirs)
        reply = b"".join(iter(lambda: _read(ours), b""))
        assert running.stderr is not None
        message = running.stderr.read()
    os.close(ours)
    assert running.returncode == 0, message
    return reply.decode().splitlines(), message


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


@pytest.fixture(scope="module")
def titled_lake(tmp_path_factory):
    """The location of a lake with a long title, and the ID of its stored receipt."""
    outcome = Lake(tmp_path_factory.mktemp("terminal") / "lake")
    publish(
        outcome, "news", [article(1, "A headline that goes on " * 9, CREATED)], "a-run-with-a-long-name-1", (), CREATED
    )
    with pitlake.connect(as_of=AFTER, lake=str(outcome.root)) as session:
        remaining = session.sql("SELECT count(*) AS articles FROM news").keep()
    return outcome.root, remaining


@pytest.mark.parametrize("columns", WIDTHS)
def test_tables_fit_the_terminal_and_never_cut_the_row_names(titled_lake, columns):
    lake, remaining = titled_lake
    latest = ("run", "news_latest", "--as-of", AFTER, "--ticker", "QBG")
    for arguments, *whole in (
        (("datasets",), "av_earnings_calendar"),
        (("versions",), "\n1         20"),
        (("receipts",), remaining),
        (latest, "2024-02-14T21:30:00Z", "A headline"),
    ):
        lines, _ = shown(arguments, columns, lake)
        assert max(map(cell_len, lines)) <= columns
        assert every(each in "\n".join(lines) for each in whole)


def test_search_results_show_title_and_score_before_provenance(titled_lake):
    lines, message = shown(("search", "headline", "--as-of", AFTER), 80, titled_lake[0])
    assert {"available_at", "title", "ft_score"} <= {*lines[0].split()}
    assert "A headline" in lines[2]
    assert "evidence" in message.splitlines()[0]


def test_columns_that_do_not_fit_are_named(titled_lake):
    lines, message = shown(("run", "news_latest", "--as-of", AFTER, "--ticker", "QBG"), 80, titled_lake[0])
    dropped = message.splitlines()[0].removeprefix("not shown at 80 columns: ").split("; ")[0].split(", ")
    assert {"available_at_source", "evidence"} <= {*dropped}
    assert "title" not in dropped
    assert {*dropped} | {*lines[0].split()} == {
        "available_at", "available_at_source", "id", "title", "teaser", "channels", "created", "source", "evidence"
    }  # fmt: skip


def test_content_columns_are_shown_before_provenance_columns(titled_lake):
    lines, message = shown(("query", "FROM news", "--as-of", AFTER), 80, titled_lake[0])
    assert lines[0].split()[0] == "id"
    assert lines[0].split()[-1] == "available_at"
    assert " more; --format json has them" in message.splitlines()[0]
    wide, _ = shown(("query", "FROM news", "--as-of", AFTER), 400, titled_lake[0])
    assert wide[0].split()[-3:] == ["available_at", "available_at_source", "evidence"]


def test_without_a_command_the_help_is_printed(titled_lake):
    lines, message = shown((), 80, titled_lake[0])
    assert lines[0] == "Usage: pitlake [OPTIONS] [COMMAND] [ARGS]..."
    assert message == ""


@pytest.mark.parametrize(
    ("text", "cells", "cell"),
    [
        ("", 2, "  "), ("abc", 5, "abc  "), ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("e\u0301tude", 5, "e\u0301tude"),
        ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("日本語", 4, "日… "),
    ],
)  # fmt: skip
def test_a_cell_of_wide_or_accented_letters_takes_its_width(text, cells, cell):
    assert render.fit(text, cells) == cell
    assert cell_len(cell) == cells


@contextmanager
def stderr_on_a_terminal(monkeypatch, kind):
    """Make stderr a terminal of 40 columns, and yield the terminal's other side."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, 40))
    monkeypatch.setenv("TERM", kind)
    with os.fdopen(theirs, "w") as stderr, os.fdopen(ours, "rb", buffering=0) as other_side:
        monkeypatch.setattr(sys, "stderr", stderr)
        yield other_side


def test_work_shows_its_text_and_time_on_one_line_and_removes_it(monkeypatch):
    with stderr_on_a_terminal(monkeypatch, "xterm") as terminal:
        with working("mounting") as progress:
            shown = terminal.read(1000).decode()
            progress(f"reading {'a long name ' * 9}")
            while "reading" not in shown:
                shown += terminal.read(1000).decode()
        shown += terminal.read(1000).decode()
    first, *lines, last = shown.removeprefix("\r").split("\r")
    assert first == "⠋ mounting 0:00:00\x1b[K"
    assert every(cell_len(line.removesuffix("\x1b[K")) < 40 for line in lines)
    assert (last, "\n" in shown) == ("\x1b[K", False)


def test_work_shows_nothing_on_a_terminal_that_cannot_go_back(monkeypatch):
    with stderr_on_a_terminal(monkeypatch, "dumb") as terminal:
        with working("mounting") as progress:
            progress("reading")
        render.say("done")
        assert terminal.read(1000) == b"done\r\n"
