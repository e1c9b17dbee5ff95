"""The help of every command group fits a terminal of 80 columns, and every option explains itself."""

import click
import pytest

from pitlake.cli import cli


def groups(command, path=("pitlake",)):
    """Yield a group and the groups below it, with their paths."""
    context = click.Context(command, info_name=path[-1])
    if isinstance(command, click.Group):
        yield " ".join(path), command
        for name in command.list_commands(context):
            yield from groups(command.get_command(context, name), (*path, name))


def commands(command, path=("pitlake",)):
    """Yield a command and the commands below it, with their paths."""
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path[-1])
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))


GROUPS, COMMANDS = dict(groups(cli)), dict(commands(cli))


@pytest.mark.parametrize("path", GROUPS)
def test_no_summary_of_a_command_is_cut_at_80_columns(path):
    # Click leaves two of the 80 columns empty.
    display = GROUPS[path].get_help(click.Context(GROUPS[path], info_name=path, terminal_width=78))
    commands = display.partition("\nCommands:\n")[2].splitlines()
    assert commands or "run" in path
    assert [line for line in commands if line.rstrip().endswith(("...", "…"))] == []


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_explains_itself(path):
    command = COMMANDS[path]
    options = [option for option in command.params if isinstance(option, click.Option)]
    assert command.help
    assert [option.name for option in options if not option.help] == []
