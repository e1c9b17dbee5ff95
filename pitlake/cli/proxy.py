"""`pitlake proxy -- COMMAND`: cuts off another MCP server's answers at T. pitlake.proxy implements the proxy."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pitlake.cli import render
from pitlake.cli.options import as_of_option, http_options
from pitlake.errors import BadInput

if TYPE_CHECKING:
    from datetime import datetime

    from pitlake.mcp.http import HttpAddress
    from pitlake.proxy.link import Link
    from pitlake.proxy.samples import Samples
    from pitlake.proxy.tape import Tape

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
@http_options
@click.option(
    "--as-of-header",
    metavar="NAME",
    help="With --http: each request's cut-off is in this header, up to --as-of. Each cut-off has a tape of its own.",
)
@click.option(
    "--header",
    "headers",
    nargs=2,
    multiple=True,
    metavar="NAME VARIABLE",
    help="Send this header to a server at a URL, with the value of this variable of the environment. Can be repeated.",
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
    http: bool,
    host: str,
    port: int,
    allowed_hosts: tuple[str, ...],
    as_of_header: str | None,
    headers: tuple[tuple[str, str], ...],
    timeout: float,
    learn: Path | None,
    calls: tuple[tuple[str, str], ...],
    policies: bool,
    server: tuple[str, ...],
) -> None:
    """Cut off another MCP server's tools at an instant.

    SERVER is the server's command, after --, or its URL. The proxy is itself an MCP server: configure this command in
    place of the server's, or with --http its URL. Over HTTP clients must send the bearer token of $PITLAKE_MCP_TOKEN,
    if it is set. Anything that the policy does not allow is refused.

    \b
    pitlake proxy --as-of 2024-02-15T16:00:00-05:00 \\
      --policy alpaca -- uvx alpaca-mcp-server
    """
    address = None
    if http:
        from pitlake.mcp.http import HttpAddress

        address = HttpAddress(host, port, allowed_hosts)
    if as_of_header is not None:
        from pitlake.proxy.link import HEADER_NAME

        if not http:
            raise BadInput("--as-of-header", "can only be used with --http", "add --http")
        if not HEADER_NAME.fullmatch(as_of_header):
            problem = f"{as_of_header!r} is not the name of a header"
            raise BadInput("--as-of-header", problem, "give one such as X-As-Of")
    if policies:
        from pitlake.proxy.policy import load, ready

        for name in ready():
            click.echo(f"{name}: {', '.join(load(name).tools)}")
    elif replay is not None:
        others = {"as_of_header": as_of_header, "header": headers, "learn": learn, "server": server}
        _refuse_with("--replay", as_of=as_of, policy=policy, tape=tape, **others)
        import anyio

        from pitlake.proxy.tape import Tape

        anyio.run(_answer, Tape.replay(replay), None, address)
    elif learn is not None:
        _refuse_with("--learn", as_of=as_of, policy=policy, tape=tape, http=http, as_of_header=as_of_header)
        _learn(learn, calls, lambda beside: _link(server, headers, timeout, beside))
    else:
        _serve(as_of, policy, tape, (address, as_of_header), lambda beside: _link(server, headers, timeout, beside))


def _refuse_with(option: str, **others: Any) -> None:
    for name, setting in others.items():
        if setting:
            option_name = "SERVER" if name == "server" else f"--{name.replace('_', '-')}"
            raise BadInput(option_name, f"can't be combined with {option}", "leave it out")


def _serve(
    as_of: str | None,
    policy_name: str | None,
    path: Path | None,
    served: "tuple[HttpAddress | None, str | None]",
    link_beside: Callable[[Path], "Link"],
) -> None:
    import anyio

    from pitlake import clock
    from pitlake.proxy.link import kept_up
    from pitlake.proxy.policy import load
    from pitlake.proxy.tape import Tape

    if as_of is None:
        raise BadInput("--as-of", "missing", "give an instant such as 2024-02-15T16:00:00-05:00")
    if policy_name is None:
        raise BadInput("--policy", "missing", "name a file or a bundled policy (--policies), or draft one with --learn")
    policy, moment = load(policy_name), clock.past(as_of, "--as-of")
    path = path or TAPES / f"{policy.server}-{clock.now():%Y%m%dT%H%M%S.%fZ}.jsonl"
    address, header = served
    link = link_beside(path)

    async def run() -> None:
        async with kept_up(link):
            if address is not None and header is not None:
                await _answer_samples(Samples(link, policy, path), address, header, moment)
            else:
                await _answer(tape, link, address, f"answers as of {clock.iso(moment)}; the tape is {path}")

    if header is not None:
        from pitlake.proxy.samples import Samples

        path.parent.mkdir(parents=True, exist_ok=True)
        anyio.run(run)
        return
    tape = Tape.record(path, policy, moment)
    try:
        anyio.run(run)
    finally:
        tape.close()


async def _answer_samples(samples: "Samples", address: "HttpAddress", header: str, latest: "datetime") -> None:
    from pitlake.clock import iso
    from pitlake.proxy.samples import AsOfHeader
    from pitlake.proxy.server import server

    saying = f"answers as of the header {header}, up to {iso(latest)}; listening at {address.url}"
    try:
        await address.serve(server(samples), lambda: render.say(saying), lambda app: AsOfHeader(app, header, latest))
    finally:
        samples.close()


async def _answer(tape: "Tape", link: "Link | None", address: "HttpAddress | None", saying: str = "") -> None:
    from pitlake.proxy.server import Proxy, serve_stdio, server

    proxy = Proxy(tape, link)
    await proxy.prepare()
    if address is not None:
        at = f"listening at {address.url}"
        return await address.serve(server(proxy), lambda: render.say(f"{saying}; {at}" if saying else at))
    if saying:
        render.say(saying)
    return await serve_stdio(server(proxy))


def _learn(path: Path, calls: tuple[tuple[str, str], ...], link_beside: Callable[[Path], "Link"]) -> None:
    import anyio

    from pitlake.proxy.learn import complaint, draft
    from pitlake.proxy.link import kept_up

    if path.exists():
        raise BadInput("--learn", f"{path} is there already", "name a new file")
    samples = []
    for tool, text in calls:
        try:
            sample = json.loads(text)
        except ValueError:
            sample = None
        if not isinstance(sample, dict):
            raise BadInput("--call", f"{text!r} is not a JSON object", """write it such as '{"query": "NVIDIA"}'""")
        samples.append((tool, sample))

    link = link_beside(path)

    async def run() -> str:
        async with kept_up(link):
            tools = await link.tools()
            names = {str(tool["name"]) for tool in tools}
            for tool, _ in samples:
                if tool not in names:
                    raise BadInput(
                        "--call", f"the server has no tool {tool!r}", f"name one of {', '.join(sorted(names))}"
                    )
            answers = [(tool, await link.call(tool, arguments)) for tool, arguments in samples]
            for tool, answer in answers:
                if problem := complaint(answer):
                    render.say(f"{tool}: the sample call failed: {problem}")
            return draft(tools, answers)

    text = anyio.run(run)
    path.write_text(text, encoding="utf-8")
    render.say(f"{path} is a draft: read it, correct it, and write reviewed = true at its top")


def _link(server: tuple[str, ...], headers: tuple[tuple[str, str], ...], timeout: float, beside: Path) -> "Link":
    import os

    from pitlake.proxy.link import Link, address_target, command_target, headers_from, secrets_of

    if not server:
        raise BadInput("SERVER", "missing", "give the server's command after --, or its URL")
    secrets = secrets_of(os.environ, [variable for _, variable in headers])
    if len(server) == 1 and server[0].startswith(("http://", "https://")):
        return Link(address_target(server[0], headers_from(headers, os.environ)), seconds=timeout, secrets=secrets)
    if headers:
        raise BadInput(
            "--header", "can only be used with a server at a URL", "leave it out: a command reads its own variables"
        )
    log = beside.with_name(f"{beside.name}.log")
    return Link(command_target(server, log), seconds=timeout, secrets=secrets, log=log)
