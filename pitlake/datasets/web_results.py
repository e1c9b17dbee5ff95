"""Contract of dataset `web_results`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared

UNDATED = GapRule("no publication date", "the result's date is null or blank")
BAD_DATE = GapRule("date is unreadable", "date or last_updated is text that is not a date, or is before 1990")
NO_URL = GapRule("no address", "the result has no url, so nothing identifies it")
LOCATOR = GapRule("locator only", "the search was in SEC mode, where the filing itself gives its acceptance")

DATASET = Dataset(
    name="web_results",
    title="Web search results",
    summary="Pages that Perplexity found, in a search or for a chat answer, one row per address.",
    availability=(
        "When a capture first contained the passage, because a passage seen today may have been written today. It is "
        "never before the provider's claim: the later of publication and update, where a date means the end of that "
        "day in New York. Undated results become gaps."
    ),
    columns=(
        Column("url", "string", "Address of the page.", required=True),
        Column("host", "string", "Host in the address, lower case, without www."),
        Column("title", "string", "Title of the page."),
        Column("snippet", "string", "Passage shown by the search; it depends on the question."),
        Column("published_on", "date", "Day of publication the provider claims.", required=True),
        Column("updated_on", "date", "Day of the last update the provider claims."),
        Column(
            "operation",
            "string",
            "search, ask, reason or research.",
            required=True,
            values=("search", "ask", "reason", "research"),
            strict=True,
        ),
        Column("query", "string", "The question that found the page.", required=True),
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
)
