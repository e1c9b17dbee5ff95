"""Provider `research`: research notes as received, and analysts' estimates and grades."""

from forge.providers.base import QueryProvider

PROVIDER = QueryProvider(
    "research",
    "Research notes as received, newest or by words; analysts' estimates and grades of a company.",
    {
        "notes": "research_latest",
        "search": "research_search",
        "estimates": "estimates_latest",
        "grades": "grades_latest",
    },
)
