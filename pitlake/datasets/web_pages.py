"""Contract of dataset `web_pages`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared

NOT_ALLOWED = GapRule(
    "source is not on the allow-list", "the page's host is not on the list of hosts whose own dates are trusted"
)
NO_CLAIM = GapRule("nothing dates the page", "no date that the page or its headers claim could be proven")
IMPLAUSIBLE = GapRule(
    "claims of publication are implausible", "the page claims a date after its own download, or before the web"
)
NO_TEXT = GapRule("no text", "the page shows neither title nor text", type="no_data")

DATASET = Dataset(
    name="web_pages",
    title="Web pages",
    summary="Pages of an explicit list of sources, dated by their own claims, one row per text revision.",
    availability=(
        "When a capture first contained the text, because a text seen today may have been written today. It is never "
        "before the page's latest proven claim: its publication, the updates it mentions, and Last-Modified. A date "
        "without a time means the end of that day in New York; a time without an offset is read as late as possible."
    ),
    columns=(
        Column("url", "string", "Address of the page.", required=True),
        Column("host", "string", "Host in the address, lower case, without www.", required=True),
        Column("title", "string", "Title of the page."),
        Column("text", "string", "Visible text, one line per block, without scripts and styles."),
        Column("published", "instant", "The claimed publication, read as late as its wording allows."),
        Column(
            "dated_at",
            "instant",
            (
                "The latest claim, which dates this text; null if the page makes no claim, and only its capture "
                "dates it."
            ),
        ),
        Column("claim_method", "string", "How the claim that dates the row was found.", required=True, proof=True),
        Column(
            "claim_quote", "string", "The words of the page or header that make the claim.", required=True, proof=True
        ),
        Column(
            "claims", "json", "Every proven claim: its kind, method, wording and instant.", required=True, proof=True
        ),
    ),
    key=("url",),
    identity=("url", "dated_at"),
    thing=("url",),
    entity="host",
    knowable=dict.fromkeys(("host", "dated_at", "claim_method", "claims", "text"), "lake"),
    source_tag="provider_metadata",
    gap_rules=(NOT_ALLOWED, NO_CLAIM, IMPLAUSIBLE, NO_TEXT, answers.REPEATED, answers.OTHER_SHAPE, shared.FUTURE),
    group="external",
    lane=3,
)
