"""Provider `news`: articles by time, company, channel, words or meaning."""

import asyncio

from forge.providers.base import At, FetchResult, Params, QueryProvider, ask, parse_params
from pitlake.errors import BadInput
from pitlake.questions import catalogue, searches

MEANING = "meaning"


class News(QueryProvider):
    """The queries for articles, and the search by meaning, which first embeds its text."""

    def parameters(self, op: str) -> tuple[catalogue.Parameter, ...]:
        # The score was computed from the words of the query.
        return super().parameters("search" if op == MEANING else op)

    async def fetch(self, params: Params, at: At) -> FetchResult:
        """Run one operation. params: `op` and its query's parameters; for meaning: `query`, `ticker`, `limit`."""
        if params.get("op") != MEANING:
            return await super().fetch(params, at)

        def search() -> FetchResult:
            _, values = parse_params(params, self.operations)
            if unknown := sorted(set(values) - {"query", "ticker", "limit"}):
                raise BadInput(unknown[0], "meaning takes no such parameter", "it takes query, ticker, limit")
            if not isinstance(values.get("query"), str):
                raise BadInput("query", "meaning needs a text", "give the text to search for")
            text = values.pop("query")
            query, bound = searches.find(text, by=MEANING, **values)
            return FetchResult(source=self.name, label=f"{self.name} {MEANING} ({text[:60]})", **ask(query, bound, at))

        return await asyncio.to_thread(search)


PROVIDER = News(
    "news",
    "Articles, newest first, of a company or of all; by channel, from a day on, by words or by meaning.",
    {
        "latest": "news_latest",
        "since": "news_date_range",
        "channel": "news_by_channel",
        "search": "news_full_text",
        MEANING: "vector_news",
    },
)
