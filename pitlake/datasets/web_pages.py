"""Contract of dataset `web_pages`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _answers as answers
from pitlake.datasets import _shared as shared

NOT_ALLOWED = GapRule(
    type="unverifiable", reason="source is not on the allow-list", when="the page's host may not date its own pages"
)
NO_CLAIM = GapRule(
    type="unverifiable", reason="nothing dates the page", when="no claim of the page or its headers could be proven"
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
    summary="Pages of an explicit list of sources, dated by what they say of themselves; one row a text revision.",
    availability=(
        "When a capture first held the text: what is read today may have been written today. No earlier than the "
        "latest proven claim of the page: publication, updates it mentions, and Last-Modified. A day without a time "
        "counts as its END in New York, a time without an offset in its later reading."
    ),
    columns=(
        Column(name="url", type="string", required=True, meaning="Address of the page."),
        Column(name="host", type="string", required=True, meaning="Host in the address, lower case, without www."),
        Column(name="title", type="string", meaning="Title of the page."),
        Column(name="text", type="string", meaning="Visible text, a line a block, scripts and styles left out."),
        Column(name="published", type="instant", meaning="The claimed publication, read as late as it can be meant."),
        Column(
            name="dated_at",
            type="instant",
            meaning="The latest claim, which dates this text; null if the page has no claim and only existed.",
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
            meaning="The words of the answer that make that claim.",
            proof=True,
        ),
        Column(
            name="claims",
            type="json",
            required=True,
            meaning="Every proven claim: kind, method, stated, instant.",
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
