"""`pitlake forge …`. Answers go to stdout, progress goes to stderr.

Without a model, a command that needs one names the setting and exits with code 2. Other commands need no model.
"""

import json
import shlex
from dataclasses import asdict
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from forge.cli.account import COMMANDS as ACCOUNT_COMMANDS
from forge.cli.alerts import desk
from forge.cli.book import COMMANDS as BOOK_COMMANDS
from forge.cli.desk import COMMANDS, lake_option
from forge.cli.judging import COMMANDS as JUDGING_COMMANDS
from forge.cli.memories import choose_memory, own_desk, run_option
from forge.cli.orders import COMMANDS as ORDER_COMMANDS
from forge.cli.papers import COMMANDS as PAPER_COMMANDS
from forge.cli.skills import skills
from forge.cli.walk import backtest, fork
from pitlake.cli.options import format_option

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from forge.agent.agent import Agent, Decided
    from forge.core.clock import Clock
    from forge.fs import ForgeFS

Answer = TypeVar("Answer")
form_option = format_option(("text", "json"))
as_of_option = click.option(
    "--as-of", metavar="T", help="Show memory as of this time, such as 2024-02-15T16:00:00-05:00 [default: now]."
)
simulated_option = click.option(
    "--simulated", is_flag=True, help="Read the memory of `ask --as-of T` [default: the live memory]."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--memory",
    "name",
    metavar="NAME",
    help="Work on this memory, as `pitlake forge memories` names it [default: live].",
)
@click.pass_context
def command(context: click.Context, name: str | None) -> None:
    """Work with the portfolio manager's agent.

    Ask it, read its memory, replay its decisions, approve its proposals.
    """
    choose_memory(context, name)


@command.command()
def memories() -> None:
    """List the live memory and those of backtests."""
    from forge.desk import memories as roots_by_name

    for name, root in roots_by_name().items():
        click.echo(f"{name}  {root}")


CONTROL = "-control"
"""The end of the names of the control arm's memories."""
_GROUPS = (COMMANDS, BOOK_COMMANDS, ACCOUNT_COMMANDS, JUDGING_COMMANDS, ORDER_COMMANDS, PAPER_COMMANDS)
for _one in chain(*_GROUPS, (backtest, desk, fork, skills)):
    command.add_command(_one)


@command.command()
@click.argument("question", required=False)
@click.option(
    "--as-of",
    metavar="T",
    help="Decide as of this time, on a simulated memory of its own [default: now, on the live memory].",
)
@click.option("--resume", metavar="DECISION", help="Continue an unfinished decision instead of asking a question.")
@click.option(
    "--control",
    is_flag=True,
    help="Ask the model of the settings' [model] control, whose training ended before T, on a memory of its own.",
)
@lake_option
@form_option
def ask(
    question: str | None, as_of: str | None, resume: str | None, control: bool, lake: str | None, form: str
) -> None:
    """Ask the agent one question. The exit code is 1 if it gives no answer."""
    from pitlake.errors import BadInput

    if (question is None) == (resume is None):
        raise BadInput("QUESTION", "missing, or given together with --resume", "give either a question or --resume")
    if question is not None and not question.strip():
        raise BadInput("QUESTION", "is empty", "ask something")
    if control and as_of is None:
        raise BadInput("--control", "needs an instant", "give --as-of")
    clock = own_desk().clock_of(resume) if resume is not None else _clock(as_of, CONTROL if control else "")
    decided = _finish(_agent(clock, lake).ask(question or "", as_of, decision=resume or "", on_progress=_progress))
    _tell(decided, form)
    if decided.end != "answered":
        raise click.exceptions.Exit(1)


@command.command()
@lake_option
def chat(lake: str | None) -> None:
    """Ask the agent question after question, until an empty line."""
    agent = _agent(None, lake)
    agent.models("agent")
    while (question := click.prompt("you", default="", show_default=False, err=True)).strip():
        _tell(_finish(agent.ask(question, on_progress=_progress)), "text")


@command.command()
@click.argument("path")
@click.option(
    "--depth",
    type=click.Choice(["header", "summary", "full"]),
    help="How much of a record to show [default: header of a memory, summary of a result, else full].",
)
@click.option("--query", help="Show only records of a folder that match: key:value, key>=N, since:date [default: all].")
@as_of_option
@simulated_option
def read(path: str, depth: str | None, query: str | None, as_of: str | None, simulated: bool) -> None:
    """Read a file or folder of memory, such as /memory/views/."""
    from forge.agent.tools.read import ReadTool

    click.echo(_finish(ReadTool(_files(as_of, simulated)).execute("", path=path, depth=depth, query=query)))


@command.command()
@click.argument("scope")
@click.argument("query")
@click.option("--filters", help="Search only records that match: key:value, key>=N, since:date [default: all].")
@as_of_option
@simulated_option
def search(scope: str, query: str, filters: str | None, as_of: str | None, simulated: bool) -> None:
    """Search a folder of memory by meaning. SCOPE is the folder."""
    from forge.agent.tools.search import SearchTool

    tool = SearchTool(_files(as_of, simulated), own_desk().meaning())
    click.echo(_finish(tool.execute("", scope=scope, query=query, filters=filters)))


@command.command()
@click.argument("decision")
@click.option(
    "--live-tools",
    is_flag=True,
    help="Call the tools again and compare their answers with the tape [default: read answers from the tape].",
)
@run_option
@lake_option
@form_option
def replay(decision: str, live_tools: bool, lake: str | None, form: str) -> None:
    """Repeat a decision from its tape and check it is the same."""
    from forge.evolution.proposing import replay as replayed

    agent = _agent(own_desk().clock_of(decision), lake)
    decided = _finish(replayed(agent, decision, "live-tools" if live_tools else "strict", _progress))
    _tell(decided, form)
    click.echo("0 differences", err=True)


@command.command()
@click.argument("decision")
@format_option(("text", "mermaid", "json"), "lineage")
@run_option
def why(decision: str, form: str) -> None:
    """Show a decision's inputs and its consequences."""
    from forge.agent import lineage

    edges = lineage.lineage(own_desk().memory(own_desk().clock_of(decision)), own_desk().tape, decision)
    formats = {"text": lineage.as_text, "mermaid": lineage.as_mermaid}
    click.echo(formats[form](edges) if form in formats else json.dumps([asdict(edge) for edge in edges]))


@command.command()
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep memory and tape in this empty folder [default: a new temporary one].",
)
@lake_option
def demo(into: Path | None, lake: str | None) -> None:
    """Run a scripted story on the lake of `make demo`.

    No model is called and nothing leaves this machine.
    """
    from tempfile import mkdtemp

    from forge.demo import play
    from pitlake.lake.lake import Lake

    home = (into or Path(mkdtemp(prefix="forge-demo-"))).absolute()
    last = play(home, Lake(lake), click.echo)
    click.echo(f"\nexport FORGE_LAKE={shlex.quote(str(home / 'forge-simulated-demo'))}")
    click.echo(f"pitlake forge replay {last}  # repeat the decision\npitlake web  # view it on the desk")


@command.command()
@click.option("--as-of", metavar="T", help="Serve memory and decisions as of this time [default: now].")
def mcp(as_of: str | None) -> None:
    """Serve shared memory and decisions to other agents over stdio.

    `[mcp]` in the settings lists what is shared [default: nothing].
    """
    from forge.shared import server
    from pitlake.clock import now, past

    own = own_desk()
    server(own, own.memory(), past(as_of, "--as-of") if as_of is not None else now()).run("stdio")


@command.command()
@form_option
def doctor(form: str) -> None:
    """Check settings, skills, models, the embedder and the lakes."""
    from forge.core.config import PROPOSAL, ROLES
    from forge.providers import all_providers
    from pitlake.errors import BadInput, PitlakeError
    from pitlake.lake.lake import Lake

    own = own_desk()
    findings = {"settings": f"{own.settings}{'' if own.settings.exists() else ' (not found: all defaults)'}"}
    findings["skills of your own"] = str(own.skills or "none")
    routing = own.routing
    roles = (*ROLES, PROPOSAL)
    findings |= {f"model of {role}": routing.missing(role) or routing.model_name(role) for role in roles}
    try:
        findings["sources"] = ", ".join(all_providers(own.config.own_providers))
    except BadInput as problem:
        findings["sources"] = str(problem)
    findings["embedder"] = "wordllama" if find_spec("wordllama") else "pip install 'pitlake[meaning]'"
    for name, place in (("market lake", None), ("memory lake", own.lake)):
        try:
            findings[name] = f"version {Lake(place).head()}"
        except PitlakeError as problem:
            findings[name] = str(problem)
    click.echo(
        json.dumps(findings) if form == "json" else "\n".join(f"{name}: {what}" for name, what in findings.items())
    )


def _clock(as_of: str | None, arm: str = "") -> "Clock | None":
    """Return the clock of the simulated memory of an instant, or None for the live memory. arm: the control arm."""
    from forge.core.clock import Simulated
    from pitlake.clock import micros, past

    return Simulated(f"at-{micros(past(as_of))}{arm}", as_of) if as_of is not None else None


def _files(as_of: str | None, simulated: bool) -> "ForgeFS":
    from pitlake.clock import instant, now
    from pitlake.errors import BadInput

    if simulated and as_of is None:
        raise BadInput("--as-of", "missing", "give the instant that you passed to `ask --as-of`")
    own = own_desk()
    memory = own.memory(_clock(as_of) if simulated else None)
    return own.files(memory, memory.hydrate(memory.read_instant(instant(as_of) if as_of is not None else now())))


def _agent(clock: "Clock | None", lake: str | None) -> "Agent":
    own = own_desk()
    is_control = clock is not None and clock.name.endswith(CONTROL)
    trained_to = own.control_trained_to(clock.now(), lake) if clock is not None and is_control else None
    return own.agent(own.memory(clock), lake, trained_to)


def _finish(work: "Coroutine[Any, Any, Answer]") -> Answer:
    # Import here, because most commands need no event loop and the library takes a while to import.
    import asyncio

    return asyncio.run(work)


def _progress(line: str) -> None:
    click.echo(f"  {line}", err=True)


def _tell(decided: "Decided", form: str) -> None:
    from forge.model.usage import total

    if form == "json":
        click.echo(json.dumps(asdict(decided), ensure_ascii=False))
    else:
        click.echo(decided.answer)
        click.echo(f"decision {decided.decision} ({decided.end}, {decided.receipt.exposure})", err=True)
        click.echo(total(decided.requests), err=True)
