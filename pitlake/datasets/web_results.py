"""Contract of dataset `web_results`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared

UNDATED = GapRule(type="unverifiable", reason="no publication date", when="the result's date is null or blank")
BAD_DATE = GapRule(
    type="unverifiable",
    reason="date is unreadable",
    when="date or last_updated is text that is not a date, or is before 1990",
)
NO_URL = GapRule(type="unverifiable", reason="no address", when="the result has no url, so nothing identifies it")
LOCATOR = GapRule(
    type="unverifiable",
    reason="locator only",
    when="the search was in SEC mode, where the filing itself states its acceptance",
)

DATASET = Dataset(
    name="web_results",
    title="Web search results",
    summary="Pages that Perplexity found, in a search or for a chat answer, one row per address.",
    availability=(
        "When a capture first contained the passage, because a passage seen today may have been written today. It is "
        "never before the provider's claim: the later of publication and update, where a day counts at its END in "
        "New York. Undated results are gaps."
    ),
    columns=(
        Column(name="url", type="string", required=True, meaning="Address of the page."),
        Column(name="host", type="string", meaning="Host in the address, lower case, without www."),
        Column(name="title", type="string", meaning="Title of the page."),
        Column(name="snippet", type="string", meaning="Passage shown by the search; it depends on the question."),
        Column(name="published_on", type="date", required=True, meaning="Day of publication the provider claims."),
        Column(name="updated_on", type="date", meaning="Day of the last update the provider claims."),
        Column(
            name="operation",
            type="string",
            required=True,
            meaning="search, ask, reason or research.",
            values=("search", "ask", "reason", "research"),
            strict=True,
        ),
        Column(name="query", type="string", required=True, meaning="The question that found the page."),
    ),
    key=("url",),
    identity=("url", "published_on", "updated_on", "operation", "query"),
    thing=("url",),
    tiebreak=("operation", "query"),
    entity="host",
    knowable={**dict.fromkeys(("query", "operation"), "asked"), "host": "lake"},
    source_tag="provider_metadata",
    gap_rules=(
        UNDATED,
        BAD_DATE,
        NO_URL,
        LOCATOR,
        answers.REPEATED,
        answers.OTHER_SHAPE,
        shared.FUTURE,
        *shared.unreadable("title", "snippet"),
    ),
    group="external",
    lane=3,
    partitioned=False,
)
