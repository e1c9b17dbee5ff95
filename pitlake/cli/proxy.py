"""`pitlake proxy -- COMMAND`: somebody else's MCP server, cut off at T. The proxy itself is pitlake.proxy."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pitlake.cli import render
from pitlake.cli.options import as_of_option
from pitlake.errors import BadInput

if TYPE_CHECKING:
    from pitlake.proxy.link import Link

TAPES = Path(".pitlake/tapes")


@click.command("proxy")
@as_of_option
@click.option("--policy", metavar="POLICY", help="A TOML file, or the name of a bundled policy (see --policies).")
@click.option(
    "--tape",
    type=click.Path(path_type=Path, dir_okay=False),
    help=f"Record the run to this file, or continue it [default: a new file in {TAPES}].",
)
@click.option(
    "--replay",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Answer only from this tape, as recorded; no server is started.",
)
@click.option(
    "--timeout", type=click.FloatRange(1, 600), default=60, show_default=True, help="Limit of each call in seconds."
)
@click.option(
    "--learn",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draft a policy into this file, from the server's tools and --call, for you to review.",
)
@click.option(
    "--call", "calls", nargs=2, multiple=True, metavar="TOOL JSON", help="A sample call for --learn. Can be repeated."
)
@click.option("--policies", is_flag=True, help="List the bundled policies, and exit.")
@click.argument("server", nargs=-1, type=click.UNPROCESSED)
def command(  # noqa: PLR0913 - one parameter per option
    as_of: str | None,
    policy: str | None,
    tape: Path | None,
    replay: Path | None,
    timeout: float,
    learn: Path | None,
    calls: tuple[tuple[str, str], ...],
    policies: bool,
    server: tuple[str, ...],
) -> None:
    """Cut off another MCP server's tools at an instant.

    SERVER is the server's command, after --, or its http URL. The proxy is itself an MCP server over stdio: configure
    this command in place of the server's. Anything that the policy does not allow is refused.

    \b
    pitlake proxy --as-of 2024-02-15T16:00:00-05:00 \\
      --policy alpaca -- uvx alpaca-mcp-server
    """
    if policies:
        from pitlake.proxy.policy import load, ready

        for name in ready():
            click.echo(f"{name}: {', '.join(load(name).tools)}")
    elif replay is not None:
        _refuse_with("--replay", as_of=as_of, policy=policy, tape=tape, learn=learn, server=server)
        _replay(replay)
    elif learn is not None:
        _refuse_with("--learn", as_of=as_of, policy=policy, tape=tape)
        _learn(learn, server, timeout, calls)
    else:
        _serve(as_of, policy, tape, timeout, server)


def _refuse_with(option: str, **others: Any) -> None:
    for name, setting in others.items():
        if setting:
            option_name = "SERVER" if name == "server" else f"--{name.replace('_', '-')}"
            raise BadInput(option_name, f"does not go with {option}", "leave it out")


def _serve(
    as_of: str | None, policy_name: str | None, path: Path | None, timeout: float, server: tuple[str, ...]
) -> None:
    import anyio

    from pitlake import clock
    from pitlake.proxy.link import kept_up
    from pitlake.proxy.policy import load
    from pitlake.proxy.server import Proxy, serve_stdio
    from pitlake.proxy.tape import Tape

    if as_of is None:
        raise BadInput("--as-of", "missing", "give an instant such as 2024-02-15T16:00:00-05:00")
    if policy_name is None:
        raise BadInput("--policy", "missing", "name a file or a ready policy (--policies), or draft one with --learn")
    policy, moment = load(policy_name), clock.past(as_of, "--as-of")
    path = path or TAPES / f"{policy.server}-{clock.now():%Y%m%dT%H%M%S.%fZ}.jsonl"
    tape = Tape.record(path, policy, moment)

    async def run(link: "Link") -> None:
        async with kept_up(link):
            proxy = Proxy(tape, link)
            await proxy.prepare()
            render.say(f"answers as of {clock.iso(moment)}; the tape is {path}")
            await serve_stdio(proxy, tape)

    try:
        anyio.run(run, _link(server, timeout, path))
    finally:
        tape.close()


def _replay(path: Path) -> None:
    import anyio

    from pitlake.proxy.server import Proxy, serve_stdio
    from pitlake.proxy.tape import Tape

    tape = Tape.replay(path)

    async def run() -> None:
        proxy = Proxy(tape, None)
        await proxy.prepare()
        await serve_stdio(proxy, tape)

    anyio.run(run)


def _learn(path: Path, server: tuple[str, ...], timeout: float, calls: tuple[tuple[str, str], ...]) -> None:
    import anyio

    from pitlake.proxy.learn import draft
    from pitlake.proxy.link import kept_up

    if path.exists():
        raise BadInput("--learn", f"{path} is there already", "name a new file")
    samples = [(tool, _arguments(text)) for tool, text in calls]

    async def run(link: "Link") -> str:
        async with kept_up(link):
            tools = await link.tools()
            names = {str(tool["name"]) for tool in tools}
            for tool, _ in samples:
                if tool not in names:
                    raise BadInput(
                        "--call", f"the server has no tool {tool!r}", f"name one of {', '.join(sorted(names))}"
                    )
            return draft(tools, [(tool, await link.call(tool, arguments)) for tool, arguments in samples])

    text = anyio.run(run, _link(server, timeout, path))
    path.write_text(text, encoding="utf-8")
    render.say(f"{path} is a draft: read it, correct it, and write reviewed = true at its top")


def _arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        raise BadInput("--call", f"{text!r} is not a JSON object", """write it such as '{"query": "NVIDIA"}'""")
    return arguments


def _link(server: tuple[str, ...], timeout: float, beside: Path) -> "Link":
    import os

    from pitlake.proxy.link import Link, command_target, secrets_of

    if not server:
        raise BadInput("SERVER", "missing", "give the server's command after --, or its URL")
    secrets = secrets_of(os.environ)
    if len(server) == 1 and server[0].startswith(("http://", "https://")):
        return Link(lambda: server[0], seconds=timeout, secrets=secrets)
    return Link(command_target(server, beside.with_name(f"{beside.name}.log")), seconds=timeout, secrets=secrets)
