"""Contract of dataset `web_pages`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared

NOT_ALLOWED = GapRule(
    type="unverifiable",
    reason="source is not on the allow-list",
    when="the page's host is not on the list of hosts whose own dates are trusted",
)
NO_CLAIM = GapRule(
    type="unverifiable",
    reason="nothing dates the page",
    when="no date that the page or its headers claim could be proven",
)
IMPLAUSIBLE = GapRule(
    type="unverifiable",
    reason="claims of publication are implausible",
    when="the page claims a date after its own download, or before the web",
)
NO_TEXT = GapRule(type="no_data", reason="no text", when="the page shows neither title nor text")

DATASET = Dataset(
    name="web_pages",
    title="Web pages",
    summary="Pages of an explicit list of sources, dated by their own claims, one row per text revision.",
    availability=(
        "When a capture first contained the text, because a text seen today may have been written today. It is never "
        "before the page's latest proven claim: its publication, the updates it mentions, and Last-Modified. A day "
        "without a time counts as its END in New York; a time without an offset is read as late as possible."
    ),
    columns=(
        Column(name="url", type="string", required=True, meaning="Address of the page."),
        Column(name="host", type="string", required=True, meaning="Host in the address, lower case, without www."),
        Column(name="title", type="string", meaning="Title of the page."),
        Column(name="text", type="string", meaning="Visible text, one line per block, without scripts and styles."),
        Column(
            name="published", type="instant", meaning="The claimed publication, read as late as its wording allows."
        ),
        Column(
            name="dated_at",
            type="instant",
            meaning=(
                "The latest claim, which dates this text; null if the page makes no claim, and only its capture "
                "dates it."
            ),
        ),
        Column(
            name="claim_method",
            type="string",
            required=True,
            meaning="How the claim that dates the row was found.",
            proof=True,
        ),
        Column(
            name="claim_quote",
            type="string",
            required=True,
            meaning="The words of the page or header that make the claim.",
            proof=True,
        ),
        Column(
            name="claims",
            type="json",
            required=True,
            meaning="Every proven claim: its kind, method, wording and instant.",
            proof=True,
        ),
    ),
    key=("url",),
    identity=("url", "dated_at"),
    thing=("url",),
    entity="host",
    knowable=dict.fromkeys(("host", "dated_at", "claim_method", "claims", "text"), "lake"),
    source_tag="provider_metadata",
    gap_rules=(
        NOT_ALLOWED,
        NO_CLAIM,
        IMPLAUSIBLE,
        NO_TEXT,
        answers.REPEATED,
        answers.OTHER_SHAPE,
        shared.FUTURE,
    ),
    group="external",
    lane=3,
    partitioned=False,
)
