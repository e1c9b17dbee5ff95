"""Provider `web`: dated pages and search results in the lake, without text that may reveal later outcomes."""

from forge.providers.base import QueryProvider

PROVIDER = QueryProvider("web", "Web pages and search results of the lake, by words.", {"search": "web_search"})
