"""Selects the catalogue query of a search, by words or by meaning, and the texts to search.

Every interface has one search command or tool, which uses this module. SQL ranks words by BM25. Meaning uses the lake's
own vectors, or the graph's if their model is configured (`embedding`). Nothing here runs SQL.
"""

from typing import Any, Literal

from pitlake.aliases import meant
from pitlake.errors import BadInput, choice
from pitlake.questions import catalogue
from pitlake.questions.embedding import MODEL, configured, embed

Within = Literal["news", "calls", "sections", "exhibits", "concepts", "everything"]
By = Literal["words", "meaning"]

BY_WORDS = {
    "news": "news_full_text",
    "calls": "transcript_search_qa",
    "sections": "report_search_sections",
    "exhibits": "report_search_exhibits",
    "concepts": "xbrl_concept_search",
}
TEXTS_OF = {
    "benzinga_news": "news",
    "transcripts": "calls",
    "call_transcripts": "calls",
    "qa_exchanges": "calls",
    "reports": "sections",
    "report_sections": "sections",
    "xbrl_facts": "concepts",
}
"""The texts to search, by the name of a dataset."""
BY_MEANING = {"news": "vector_news", "calls": "vector_qa", "everything": "vector_combined"}


def find(
    text: str, *, within: str = "news", ticker: str | None = None, by: str = "words", limit: int | None = None
) -> tuple[catalogue.Query, dict[str, Any]]:
    """Return the query of a search and its parameters. Raises BadInput if these texts can't be searched this way, or
    there is no model.
    """
    within = texts(within)
    ways = {"words": BY_WORDS, "meaning": BY_MEANING}
    if by not in ways:
        raise BadInput("by", f"{by!r} is not a kind of search", choice(by, ways))
    if within not in ways[by]:
        raise BadInput("within", f"{within!r} can't be searched by {by}", choice(within, ways[by]))
    query = catalogue.get(ways[by][within])
    values: dict[str, Any] = {"query": text, "limit": limit}
    if by == "meaning":
        # The model whose vectors can be compared with the text's; None is the graph's own.
        values = {"k": limit, "embedding": embed(text), "model": None if configured() else MODEL}
    return query, {name: value for name, value in (values | {"ticker": ticker}).items() if value is not None}


def texts(within: str) -> str:
    """Return the kind of texts for its name, a dataset or an alias; return any other name unchanged."""
    return within if within in (*BY_WORDS, *BY_MEANING) else TEXTS_OF.get(meant(within), meant(within))
