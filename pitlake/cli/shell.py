"""`pitlake shell`: one session that runs statement after statement. The session runs SQL; the shell runs dot commands.

The session decides what SQL may see. A piped script gets no prompt, and a failure ends with exit code 2.
"""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from pitlake.cli import render
from pitlake.cli.answering import door
from pitlake.cli.sessions import opened, session_options, typed, working
from pitlake.errors import PitlakeError, SessionLost

if TYPE_CHECKING:
    from pitlake.session import Result, Session, Viewpoint

HELP = """.help      this
.datasets  the datasets of this session
.receipt   keep the receipt of the last answer in the lake
.quit      leave; the end of input does the same
Anything else is SQL, up to a line that ends with a semicolon. Ctrl-C stops a running query."""


@click.command("shell")
@session_options
def command(viewpoint: "Viewpoint") -> None:
    """Run SQL statements interactively in one session."""
    with opened(viewpoint) as session:
        if sys.stdin.isatty():
            import readline  # noqa: F401  line editing for input()

            render.say(f"{door(session)}; .help lists the commands")
        failed = Shell(session).run()
    if failed and not sys.stdin.isatty():
        raise click.exceptions.Exit(2)


class Shell:
    """Reads statements and runs them until the input ends."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._last: Result | None = None

    def run(self) -> bool:
        """Run everything; return True if a statement failed."""
        failed = False
        for statement in _statements():
            try:
                if statement == ".quit":
                    break
                if statement == ".help":
                    render.say(HELP)
                elif statement == ".datasets":
                    listed_datasets = self._session.sql("SELECT dataset, rows, watermark FROM lake_info")
                    render.write(listed_datasets.arrow(), "table", None)
                elif statement == ".receipt":
                    receipt = self._last.keep() if self._last else None
                    render.say(f"receipt {receipt}" if receipt else "there is no answer yet")
                elif statement.startswith("."):
                    render.say(f"{statement} is not a command; .help lists them")
                else:
                    with working("asking"):
                        self._last = self._session.sql(statement)
                    render.write(self._last.arrow(), "table", None)
            except SessionLost:
                raise
            except PitlakeError as error:
                failed = True
                render.say(str(error))
            except KeyboardInterrupt:
                render.say("interrupted")
        return failed


def _statements() -> Iterator[str]:
    """Yield statements as typed. A dot command is one line; SQL continues up to a line that ends with a semicolon."""
    lines: list[str] = []
    while True:
        try:
            line = _read("...> " if lines else "pitlake> ")
        except EOFError:
            break
        except KeyboardInterrupt:
            lines.clear()
            render.say("")
            continue
        if not lines and line.strip().startswith("."):
            yield line.strip()
            continue
        lines.append(line)
        if line.rstrip().endswith(";"):
            yield "\n".join(lines)
            lines.clear()
    if "".join(lines).strip():
        yield "\n".join(lines)


def _read(prompt: str) -> str:
    if sys.stdin.isatty():
        return typed(lambda: input(prompt))
    line = typed(sys.stdin.readline)
    if not line:
        raise EOFError
    return line.rstrip("\n")
