"""Provider `research`: notes that were received, and what analysts estimated and graded."""

from forge.providers.base import Asking

PROVIDER = Asking(
    "research",
    "Research notes as received, newest or by words; analysts' estimates and grades of a company.",
    {
        "notes": "research_latest",
        "search": "research_search",
        "estimates": "estimates_latest",
        "grades": "grades_latest",
    },
)
