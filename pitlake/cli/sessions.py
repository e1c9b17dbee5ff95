"""Opening a session from a command: the shared options as a decorator, a progress message, and the SQL text."""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from functools import partial, wraps
from itertools import cycle
from typing import TYPE_CHECKING, Any

import click

from pitlake.cli import render
from pitlake.cli.options import (
    Decorated,
    as_of_option,
    flag,
    hindsight_option,
    isolation_option,
    known_by_option,
    lake_option,
    open_option,
    version_option,
)
from pitlake.errors import BadInput

if TYPE_CHECKING:
    from pitlake.session import Session, Viewpoint

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
FRAME_SECONDS = 0.1
_ARGUMENTS = ("as_of", "open_mode", "version", "known_by", "lake", "isolation", "hindsight", "for_model", "require")


def session_options(command: Decorated, *, required: bool = True) -> Decorated:
    """Add the options of a command that opens a session; the command receives a `viewpoint`.

    required: whether an instant or open mode is required. If not, the viewpoint may be None, and the command also
    receives the `lake`.
    """

    @wraps(command)
    def with_viewpoint(**options: Any) -> Any:
        arguments = {name: options.pop(name) for name in _ARGUMENTS if name in options}
        if not required:
            options["lake"] = arguments["lake"]
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # Otherwise numpy slowly starts a thread per core.
        is_named = arguments["as_of"] is not None or arguments["open_mode"]
        viewpoint = parse_viewpoint(**arguments) if required or is_named else None
        if viewpoint and viewpoint.isolation == "process":
            from pitlake.session.sealed import launcher

            launcher.begin()
        return command(viewpoint=viewpoint, **options)

    options = (isolation_option, hindsight_option, lake_option, version_option, known_by_option)
    for option in (*options, open_option, as_of_option):
        with_viewpoint = option(with_viewpoint)
    return with_viewpoint


optional_session_options = partial(session_options, required=False)


def parse_viewpoint(as_of: str | None, **options: Any) -> "Viewpoint":
    """Return the viewpoint of the options. Raises BadInput with the options' names."""
    from pitlake.session.viewpoint import Viewpoint

    model, require = options.pop("for_model", None), options.pop("require", None)
    viewpoint = Viewpoint.parse(as_of, **options, field=flag)
    if model is None and require is None:
        return viewpoint
    from pitlake.session.api import by_model

    return by_model(viewpoint, model, require, lambda name: flag("for_model" if name == "model" else name))


@contextmanager
def opened(viewpoint: "Viewpoint", datasets: Collection[str] | None = None) -> Iterator["Session"]:
    """Open a session for a block, with a progress message on a terminal."""
    with working("opening the session"):
        from pitlake.session import open_session

        session = open_session(viewpoint, datasets=datasets or None)
    with session:
        yield session


def typed(read: Callable[[], str], field: str = "SQL") -> str:
    """Read a value that the user types, pipes in or names as a file. field: the argument's name in errors.

    Raises BadInput if it is not text or can't be read.
    """
    try:
        return read()
    except UnicodeDecodeError:
        raise BadInput(field, "is not UTF-8 text", f"give {field} in UTF-8") from None
    except OSError as problem:
        raise BadInput(field, f"can't be read: {problem.strerror}", "name a file that exists") from None


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show a message and the time on a stderr terminal while the block runs. The block may replace the message."""
    if not sys.stderr.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield lambda _text: None
        return
    texts, done = deque([what], maxlen=1), threading.Event()
    spinner = threading.Thread(target=_spin, args=(texts, done), daemon=True)
    spinner.start()
    try:
        yield texts.append
    finally:
        done.set()
        spinner.join()


def _spin(texts: Sequence[str], done: threading.Event) -> None:
    """Show the last message and the time on one line of stderr until the work is done, and then remove the line."""
    began = time.monotonic()
    for frame in cycle(FRAMES):
        line = f"{frame} {texts[-1]} {timedelta(seconds=int(time.monotonic() - began))}"
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        click.echo(f"\r{render.fit(line, columns - 1).rstrip()}\x1b[K", nl=False, err=True)
        if done.wait(FRAME_SECONDS):
            break
    click.echo("\r\x1b[K", nl=False, err=True)
