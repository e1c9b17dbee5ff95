"""How commands open a session: the shared options as one decorator, progress while it opens, and the SQL's text."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pitlake.cli.options import (
    Decorated,
    as_of_option,
    door,
    hindsight_option,
    isolation_option,
    known,
    known_by_option,
    lake_option,
    open_option,
    version_option,
)
from pitlake.errors import BadInput

if TYPE_CHECKING:
    from pitlake.session import Session


def session_options(command: Decorated) -> Decorated:
    """The options every command that opens a session has."""
    options = (isolation_option, hindsight_option, lake_option, version_option, known_by_option)
    for option in (*options, open_option, as_of_option):
        command = option(command)
    return command


@contextmanager
def opened(
    as_of: str | None,
    open_mode: bool,
    version: int | None,
    known_by: str | None,
    lake: str | None,
    isolation: Any,
    hindsight: Any,
    datasets: Any = None,
) -> Iterator["Session"]:
    """A session at the door the options name, closed afterwards; a person at a terminal sees that it is opening."""
    asked, at = door(as_of, open_mode), known(known_by, version)
    with working("opening the session"):
        from pitlake.session import connect

        session = connect(
            asked,
            version=version,
            known_by=at,
            lake=lake,
            isolation=isolation,
            datasets=datasets or None,
            open_mode=open_mode,
            hindsight=hindsight,
        )
    with session:
        yield session


def typed(read: Callable[[], str]) -> str:
    """What a person types or pipes in. Raises BadInput where it is not text."""
    try:
        return read()
    except UnicodeDecodeError:
        raise BadInput("SQL", "is not UTF-8 text", "give SQL in UTF-8") from None


@contextmanager
def working(what: str) -> Iterator[None]:
    """A spinner on stderr for as long as the block lasts, where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
