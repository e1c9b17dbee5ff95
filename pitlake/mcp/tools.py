"""The tools for agents: query, run_query, describe, search, gaps.

Agents read their descriptions. The tools check nothing themselves. The catalogue and the service check the arguments,
and a refusal becomes one clear line.
Unknown arguments are refused too, because a misspelt `pit` must not return an answer as of another instant.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from pitlake.errors import PitlakeError, for_agents
from pitlake.mcp.faults import PlainTool
from pitlake.mcp.query_service import GAPS, MOST_ROWS, ROWS, AnswerPage, QueryService, ServiceQuestion
from pitlake.mcp.reading import description
from pitlake.questions import catalogue, searches

Sql = Annotated[
    str, Field(description="One DuckDB SELECT. End it with ORDER BY over a key, so that pages fit together.")
]
Pit = Annotated[
    str | None,
    Field(
        description=(
            "Answer as of this earlier instant, ISO-8601 with an offset such as 2024-02-15T16:00:00-05:00; never "
            "later than the server's own. Default: the server's own."
        )
    ),
]
KnownBy = Annotated[
    str | None,
    Field(
        description="Use only data that the lake had ingested by this time, which can't be later than the server's own "
        "known_by. Default: all data."
    ),
]
MaxRows = Annotated[int | None, Field(description=f"Rows of this page, {ROWS} by default, {MOST_ROWS} at most.")]
CursorText = Annotated[str | None, Field(description="`next_cursor` of the last page; repeat the other arguments.")]
Params = Annotated[
    dict[str, Any] | None, Field(description="Values by name; `describe` lists the parameters of a query.")
]


class ReceiptModel(BaseModel):
    """The question, its lake, and the hash of the whole answer. The same receipt always returns the same bytes."""

    as_of: str | None
    known_by: str | None = Field(
        default=None, description="The answer uses only data that was ingested by this time; null: all data."
    )
    sql_sha256: str
    result_sha256: str = Field(description="Also finds a stored receipt: `pitlake replay SHA256`.")
    rows: int = Field(description="Rows of the whole answer, over all pages.")
    note: str | None = Field(
        description="What was resolved outside the session: which CIK a ticker was read as, and how."
    )
    exposure: str | None = Field(
        description='"clean", "exposed" (the model may know what came after as_of), or null if no model is named.'
    )
    hindsight: str | None = Field(
        description=(
            "Columns (dataset.column) of the question's datasets that could not be known at the time, such as "
            "today's tickers."
        )
    )


class AnswerModel(BaseModel):
    """The envelope, and whether it contains the whole answer."""

    data: list[dict[str, Any]] = Field(
        description="Each item has available_at and available_at_source, or is computed and has newest_input_at."
    )
    gaps: list[dict[str, Any]] = Field(description="What is missing: type, reason and what it is about.")
    truncated: bool = Field(description="More rows follow: ask again with next_cursor.")
    next_cursor: str | None
    receipt: ReceiptModel


class DescriptionModel(BaseModel):
    """All datasets, views over several of them and queries in one line each, or one of them in full."""

    as_of: str | None
    datasets: list[dict[str, Any]]
    unions: list[dict[str, Any]]
    queries: list[dict[str, Any]]


READS_ONLY = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
Answered = Annotated[CallToolResult, AnswerModel]
Described = Annotated[CallToolResult, DescriptionModel]


class Toolbox:
    """The tools of a server, answered by its service. A method's docstring is its description for agents."""

    def __init__(self, service: QueryService) -> None:
        self._service = service

    def query(
        self,
        sql: Sql,
        params: Params = None,
        pit: Pit = None,
        max_rows: MaxRows = None,
        cursor: CursorText = None,
        known_by: KnownBy = None,
    ) -> Answered:
        """Run one SELECT (DuckDB) over everything that was public at the instant.

        Each dataset is a view of its newest revisions; <dataset>_revisions has all of them. Rows of one view keep
        available_at, available_at_source and evidence if you select these and neither rename nor compute a column. Any
        other row is marked computed: newest_input_at is the newest instant of what was read, not a publication time.
        Start with `describe`.
        """

        def ask() -> AnswerPage:
            question = ServiceQuestion(sql, params)
            return self._service.ask(question, pit=pit, max_rows=max_rows, cursor=cursor, known_by=known_by)

        return _answered(ask)

    def run_query(
        self,
        name: Annotated[str, Field(description="Name of a query, as `describe` lists them.")],
        params: Params = None,
        pit: Pit = None,
        max_rows: MaxRows = None,
        cursor: CursorText = None,
        known_by: KnownBy = None,
    ) -> Answered:
        """Run a query of the catalogue by name: news, filings, calls, XBRL facts, prices, nearest texts, event joins.

        Prefer it to SQL if one fits. `describe` lists the queries and their parameters.
        """

        def ask() -> AnswerPage:
            question = _named(catalogue.get(name), params or {})
            return self._service.ask(question, pit=pit, max_rows=max_rows, cursor=cursor, known_by=known_by)

        return _answered(ask)

    def search(
        self,
        query: Annotated[str, Field(description='Words (any may match), "quoted phrases", AND to require both sides.')],
        within: Annotated[
            searches.Within,
            BeforeValidator(lambda within: searches.texts(within) if isinstance(within, str) else within),
            Field(description="Which texts to search."),
        ] = "news",
        ticker: Annotated[str | None, Field(description="Limit to one company (concepts: required).")] = None,
        by: Annotated[searches.By, Field(description="Match by words, or by meaning.")] = "words",
        limit: Annotated[int | None, Field(description="Return at most this many, best first.")] = None,
        pit: Pit = None,
        cursor: CursorText = None,
        known_by: KnownBy = None,
    ) -> Answered:
        """Find news, sections and exhibits of filings, exchanges of earnings calls or XBRL concepts, best match first.

        The ranking uses only what was public at the instant.
        """

        def ask() -> AnswerPage:
            search_query, values = searches.find(query, within=within, ticker=ticker, by=by, limit=limit)
            return self._service.ask(
                _named(search_query, values), pit=pit, max_rows=None, cursor=cursor, known_by=known_by
            )

        return _answered(ask)

    def gaps(
        self,
        dataset: Annotated[str | None, Field(description="Limit to this dataset.")] = None,
        pit: Pit = None,
        max_rows: MaxRows = None,
        cursor: CursorText = None,
        known_by: KnownBy = None,
    ) -> Answered:
        """List source records that could not become rows, with the reason, if public at the instant."""

        def ask() -> AnswerPage:
            name = None if dataset is None else self._service.viewpoint.open_lake().contract(dataset).name
            names = None if name is None else [name]
            question = ServiceQuestion(GAPS, {"dataset": name}, names, about_gaps=True)
            return self._service.ask(question, pit=pit, max_rows=max_rows, cursor=cursor, known_by=known_by)

        return _answered(ask)

    def describe(
        self,
        name: Annotated[str | None, Field(description="A dataset or a query. Default: a list of everything.")] = None,
    ) -> Described:
        """Describe datasets and queries, and the lake's content of each dataset at the server's instant. Without a
        name, each is one line; with a name, you get columns, clock, key and parameters.
        """
        return _guarded(lambda: description(self._service, name))


UNGATED = frozenset(("describe",))
"""Tools whose answers have no rows, so no gate checks them. `make docs` writes all names into the agents' wiring."""


def tools(service: QueryService) -> list[Tool]:
    """Return the tools in the SDK's form."""
    box = Toolbox(service)
    return [strict_tool(method) for method in (box.query, box.run_query, box.search, box.gaps, box.describe)]


def strict_tool(function: Callable[..., Any]) -> Tool:
    """Make a function a read-only tool. Its docstring is the description; unknown arguments are refused."""
    title, text = function.__name__.replace("_", " ").capitalize(), " ".join((function.__doc__ or "").split())
    tool = PlainTool.from_function(function, title=title, description=text, annotations=READS_ONLY)
    model = tool.fn_metadata.arg_model
    strict = create_model(model.__name__, __base__=model, __module__=__name__)
    strict.model_config = ConfigDict(**model.model_config, extra="forbid")
    strict.model_rebuild(force=True)
    tool.fn_metadata.arg_model = strict
    tool.parameters = strict.model_json_schema(by_alias=True)
    return tool


def _named(query: catalogue.Query, values: dict[str, Any]) -> ServiceQuestion:
    return ServiceQuestion(query, query.bind(values))


def _answered(ask: Callable[[], AnswerPage]) -> CallToolResult:
    return _guarded(lambda: _to_dict(ask()))


def _to_dict(answer: AnswerPage) -> dict[str, Any]:
    receipt, hindsight = answer.result.receipt, answer.result.hindsight
    return {
        **answer.page.payload,
        "truncated": answer.cursor is not None,
        "next_cursor": answer.cursor,
        "receipt": {
            "as_of": receipt.as_of,
            "known_by": receipt.known_by,
            "sql_sha256": receipt.sql_sha256,
            "result_sha256": receipt.result_sha256,
            "rows": receipt.rows,
            "note": "; ".join(answer.result.notes) or None,
            "exposure": receipt.question.exposure,
            "hindsight": ", ".join(f"{name}.{column}" for name in hindsight for column in hindsight[name]) or None,
        },
    }


def _guarded(make: Callable[[], dict[str, Any]]) -> CallToolResult:
    """Turn pitlake's errors into answers that an agent can act on, without any data."""
    try:
        answer = make()
    except PitlakeError as error:
        return CallToolResult(content=[TextContent(type="text", text=for_agents(error))], is_error=True)
    plain = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=plain)], structured_content=answer)
