"""The command line, `pitlake …`: data goes to stdout, messages go to stderr.

Each command is in the module of the same name, which is imported when the command is called, so that the program starts
quickly. Commands raise the errors of `pitlake.errors`; this module turns them into one line and an exit code.
"""

import gc
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from pitlake import __version__, extensions, machine
from pitlake.errors import PitlakeError, choice

COMMANDS = (
    "query",
    "run",
    "panel",
    "search",
    "shell",
    "mcp",
    "proxy",
    "agents",
    "web",
    "mount",
    "sealed",
    "datasets",
    "describe",
    "gaps",
    "diff",
    "export",
    "report",
    "versions",
    "receipts",
    "replay",
    "check",
    "audit",
    "study",
    "compact",
    "retract",
    "vacuum",
    "doctor",
)
_CALENDAR = ("exchange_calendars", "pytz")
EXTRAS = {
    "alerts": ("apprise",),
    "excel": ("xlsxwriter",),
    "platform": ("dagster", "neo4j"),
    "mcp": ("anyio", "jsonschema", "mcp", "mcp_types", "referencing", "starlette", "uvicorn"),
    "iceberg": ("pyiceberg",),
    "postgres": ("psycopg2",),
    "report": (*_CALENDAR, "jinja2", "markupsafe"),
    "s3": ("obstore",),
    "sync": (*_CALENDAR, "great_expectations", "pandas", "selectolax"),
    "web": ("anyio", *_CALENDAR, "jinja2", "markupsafe", "starlette", "uvicorn"),
    "audit": (*_CALENDAR, "pandas"),
    "forge": ("anthropic", *_CALENDAR, "genai_prices", "jinja2", "openai", "pydantic_ai", "yaml"),
}
"""Optional modules that commands need, by the extra of pitlake that installs them."""
_GARBAGE = 50_000  # objects before a garbage collection, more than by default
FAILED, BAD_INPUT, INTERRUPTED, READER_GONE = 1, 2, 130, 141
_PASSWORD = re.compile(r"(?<=://)\S*:\S*(?=@)")
EXIT_CODES = "Exit codes: 0 success, 1 failure, 2 bad input, 130 interrupted, 141 stdout was closed."


class LazyGroup(click.Group):
    """A group of commands: the `command` of the modules in COMMANDS, and commands added from outside the kernel. Each
    module is imported when it is used.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the help."""
        return names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, or None."""
        return load(cmd_name) if cmd_name in COMMANDS or cmd_name in extensions.entries("commands") else None


def names() -> list[str]:
    """Return the names of all commands: the kernel's own, then added ones."""
    return [*COMMANDS, *(name for name in extensions.entries("commands") if name not in COMMANDS)]


def load(name: str) -> click.Command:
    """Import a command by its name, one of `names`."""
    if name not in COMMANDS:
        added: click.Command = extensions.load("commands", name)
        return added
    command: click.Command = import_module(f"{__name__}.{name}").command
    return command


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
    invoke_without_command=True,
)
@click.version_option(__version__, prog_name="pitlake")
@click.pass_context
def cli(context: click.Context) -> None:
    """Query the lake as of an instant.

    A query as of T cannot see anything that was not public at T, because it is not there. Begin with `pitlake demo`.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line and exit with its code."""
    # Most commands are short. Garbage collection finds little while they import modules and when they end.
    gc.set_threshold(_GARBAGE)
    code = invoke(arguments)
    if "duckdb" not in sys.modules:  # DuckDB reports uncollected objects as leaks.
        gc.freeze()
    sys.exit(code)


def invoke(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code; every error becomes one line on stderr here."""
    try:
        machine.require("pitlake", sys.prefix)
        code = cli.main(args=None if arguments is None else list(arguments), prog_name="pitlake", standalone_mode=False)
    except PitlakeError as error:
        return _complain(str(error), error.exit_code)
    except click.UsageError as error:
        return _complain(_usage(error), BAD_INPUT)
    except click.ClickException as error:
        return _complain(error.format_message(), FAILED)
    except (KeyboardInterrupt, click.Abort):
        return _complain("interrupted", INTERRUPTED)
    except ModuleNotFoundError as error:
        extras = [extra for extra, brings in EXTRAS.items() if error.name in brings]
        if not extras:
            raise
        typed = sys.argv[1:] if arguments is None else arguments
        command = next(iter(typed), "")
        extra = command if command in extras else "web" if command == "demo" else extras[0]
        needed = ",".join(dict.fromkeys(name for name in (command, extra) if name in EXTRAS))
        again = f"run uvx --from 'pitlake[{needed}]' pitlake {shlex.join(typed)}"
        install = again if machine.in_uv_cache() else f"install it with pip install 'pitlake[{extra}]'"
        return _complain(f"{error.name} is not installed; {install}", BAD_INPUT)
    except OSError as error:
        return _complain(f"{error.filename or 'input/output'}: {error.strerror or error}", FAILED)
    return code if isinstance(code, int) else 0


def _usage(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx else "pitlake"
    if isinstance(error, click.exceptions.NoSuchCommand) and error.ctx and isinstance(error.ctx.command, click.Group):
        options = [name for option in error.ctx.command.get_params(error.ctx) for name in option.opts]
        names = error.ctx.command.list_commands(error.ctx) + options
        return f"there is no command '{command} {error.command_name}'; {choice(error.command_name, names)}"
    return f"{error.format_message().rstrip('.')}; see {command} --help"


def _complain(line: str, code: int) -> int:
    click.echo(f"pitlake: {_PASSWORD.sub('[redacted]', ' '.join(line.split()))}", err=True)
    return code
