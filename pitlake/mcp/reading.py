"""The server's resources, one for each dataset, and its prompts, which list the calls to make.

A resource is the output of `describe` for its dataset, with the lake's content at the server's instant. A prompt is a
list of calls that this server can answer, with their arguments filled in.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.mcpserver.prompts.base import Message, Prompt, UserMessage
from mcp.server.mcpserver.resources import FunctionResource, Resource
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS
from pydantic import Field

from pitlake.aliases import meant
from pitlake.clock import iso
from pitlake.errors import BadInput, PitlakeError, for_agents
from pitlake.mcp.query_service import QueryService
from pitlake.questions import catalogue
from pitlake.questions.dictionary import facts, shown, union_facts
from pitlake.questions.parameters import spell

ANSWER = (
    "For each figure, say when it became public (available_at) and its source (evidence). If the answers lack "
    "something, it was not public: say so, and add nothing from memory."
)
Ticker = Annotated[str, Field(description="A ticker, such as AAPL.")]
Call = tuple[str, dict[str, Any]]


def description(service: QueryService, name: str | None) -> dict[str, Any]:
    """Describe all datasets and queries in one line each, or one of them in full. Raises BadInput."""
    contracts, queries = service.contracts(), catalogue.all_queries()
    as_of = service.viewpoint.as_of
    answer: dict[str, Any] = {"as_of": iso(as_of) if as_of else None, "datasets": [], "unions": [], "queries": []}
    if name is None:
        holdings = service.holdings()
        with_rows = {dataset for dataset, holding in holdings.items() if holding["rows"]}
        answer["datasets"] = [
            {"name": contract.name, "summary": contract.summary, "key": list(contract.key), "shown": shown(contract)}
            | {"holds": holdings.get(contract.name)}
            for contract in sorted(contracts.values(), key=lambda contract: contract.name not in with_rows)
        ]
        answer["unions"] = [
            {"name": union.name, "summary": union.summary, "reads": list(union.reads)}
            for union in catalogue.unions().values()
        ]
        answer["queries"] = [{"name": query.name, "summary": query.summary} for query in queries.values()]
    elif query := catalogue.find(name):
        answer["queries"] = [catalogue.facts(query)]
    elif name not in contracts and name in catalogue.unions():
        answer["unions"] = [union_facts(catalogue.unions()[name])]
    elif (own := name if name in contracts else meant(name)) in contracts:
        reasons, holdings = [rule.reason for rule in contracts[own].gap_rules], service.holdings(own)
        rule = service.viewpoint.open_lake().counts_from(contracts[own])
        described = facts(contracts[own]) | {"gaps": reasons, "holds": holdings.get(own)}
        answer["datasets"] = [described | ({"counts_from": rule} if rule else {})]
    else:
        raise BadInput(
            "name", f"{name!r} is neither a dataset nor a query", "call describe without a name for the list"
        )
    return answer


def resources(service: QueryService) -> list[Resource]:
    """Return one resource per dataset, pitlake://datasets/NAME."""
    return [
        FunctionResource(
            uri=f"pitlake://datasets/{contract.name}",
            name=contract.name,
            title=contract.name.replace("_", " ").capitalize(),
            description=contract.summary,
            mime_type="application/json",
            fn=_read(service, contract.name),
        )
        for contract in service.contracts().values()
    ]


class Prompts:
    """The prompts of a server, answered by its service. A method's docstring is its description for the client's
    user.
    """

    def __init__(self, service: QueryService) -> None:
        as_of = service.viewpoint.as_of
        self._asked = f"as of {iso(as_of)}" if as_of else "in open mode, outcomes included"

    def company_brief(self, ticker: Ticker) -> str:
        """Summarise what was public about a company: latest filings, news, reported values and price."""
        calls = [_named(name, ticker=ticker) for name in ("report_latest", "news_latest", "entity_latest_price")]
        calls += [_named("xbrl_all_metrics", ticker=ticker), ("gaps", {})]
        return self._asking(f"Write a one-page brief on {_ticker(ticker)}", calls)

    def before_earnings(self, ticker: Ticker) -> str:
        """Summarise what was known before a company's next earnings: last call, estimates, results, price."""
        calls = [
            _named(name, ticker=ticker) for name in ("earnings_snapshot", "transcript_qa_latest", "estimates_latest")
        ]
        return self._asking(
            f"Say what to expect from the next earnings of {_ticker(ticker)}, and what would surprise", calls
        )

    def check_a_claim(self, claim: Annotated[str, Field(description="The sentence to check.")], ticker: Ticker) -> str:
        """Check a claim about a company against filings, calls and news."""
        calls: list[Call] = [
            ("search", {"query": claim, "within": within, "ticker": _ticker(ticker)})
            for within in ("sections", "calls", "news", "concepts")
        ]
        return self._asking(
            f"Judge this claim about {_ticker(ticker)} (supported, contradicted or open): {claim}", calls
        )

    def _asking(self, task: str, calls: list[Call]) -> str:
        steps = [f"{number}. {tool} {json.dumps(arguments)}" for number, (tool, arguments) in enumerate(calls, 1)]
        return "\n".join([f"{task}, {self._asked}.", "", "Call these tools of the server pitlake:", *steps, "", ANSWER])


def prompts(service: QueryService) -> list[Prompt]:
    """Return the prompts in the SDK's form."""
    methods = Prompts(service)
    plain_prompts = []
    for method in (methods.company_brief, methods.before_earnings, methods.check_a_claim):
        title, text = method.__name__.replace("_", " ").capitalize(), " ".join((method.__doc__ or "").split())
        plain_prompts.append(PlainPrompt.from_function(method, title=title, description=text))
    return plain_prompts


class PlainPrompt(Prompt):
    """A prompt of the SDK that reports wrong arguments in pitlake's words."""

    async def render(self, arguments: dict[str, Any] | None, context: Any) -> list[Message]:
        """Render the message with these arguments; an error names a wrong one."""
        taken, values = {argument.name: argument for argument in self.arguments or ()}, arguments or {}
        try:
            for name in values.keys() - taken.keys():
                raise BadInput(name, f"{self.name} takes no such argument", f"it takes {', '.join(taken)}")
            for name in taken.keys() - values.keys():
                raise BadInput(name, "missing", taken[name].description or "")
            return [UserMessage(str(self.fn(**values)))]
        except PitlakeError as error:
            raise MCPError(INVALID_PARAMS, for_agents(error)) from None


def _named(name: str, **values: Any) -> Call:
    query = catalogue.get(name)
    query.bind(values)
    return "run_query", {"name": query.name, "params": values | {"ticker": _ticker(values["ticker"])}}


def _ticker(ticker: str) -> str:
    return str(spell("ticker", "ticker", ticker))


def _read(service: QueryService, name: str) -> Callable[[], str]:
    def read() -> str:
        try:
            return json.dumps(description(service, name), ensure_ascii=False)
        except PitlakeError as error:
            raise ResourceError(for_agents(error)) from None

    return read
