"""Contract of dataset `benzinga_news`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_CREATED = GapRule(
    type="unverifiable",
    reason="created is missing or unreadable",
    when="created is not a date with a time and an offset, or before 1990",
)
BAD_UPDATED = GapRule(
    type="unverifiable", reason="updated is unreadable", when="updated is text but no instant since 1990"
)
NOT_AN_ITEM = GapRule(type="unverifiable", reason="not a news item", when="the item is not an object, or has no id")
NO_TEXT = GapRule(type="no_data", reason="no text", when="title, teaser and body are all blank")
SAME_STAMP = GapRule(
    type="unverifiable",
    reason="two texts under one update",
    when="one run saw different contents with the same id and updated; the longer text is kept",
)
MORE_PAGES = GapRule(
    type="upstream_error",
    reason="more pages than were asked for",
    when="the last page that the run was allowed to fetch is full, so older items of the window may be missing",
)

DATASET = Dataset(
    name="benzinga_news",
    title="Benzinga news",
    summary="Articles as Benzinga's REST interface gives them, one row per text revision of an article.",
    availability=(
        "The later of `created` and `updated`: title and body are the latest text, which is proven public only since "
        "its last update. A text that changes without a newer `updated` is a new revision, available when observed."
    ),
    columns=(
        Column(name="id", type="string", required=True, meaning="Article id, digits.", pattern="[0-9]+", strict=True),
        Column(name="ticker", type="string", meaning="First ticker the article is about, alphabetically."),
        Column(
            name="tickers",
            type="strings",
            required=True,
            meaning=(
                "Every symbol the article is about, sorted; `$` marks crypto. Empty for about a quarter of the "
                "articles."
            ),
        ),
        Column(name="title", type="string", meaning="Headline, HTML entities resolved."),
        Column(name="teaser", type="string", meaning="Short text under the headline."),
        Column(name="body", type="string", meaning="Full text, HTML as given."),
        Column(name="url", type="string", meaning="Address of the article."),
        Column(name="author", type="string", meaning="Author's name."),
        Column(name="channels", type="strings", required=True, meaning="Editorial channels, such as Earnings."),
        Column(name="tags", type="strings", required=True, meaning="Editorial tags."),
        Column(name="created", type="instant", required=True, meaning="When the article first appeared."),
        Column(name="updated", type="instant", meaning="When the text in this row was last changed."),
    ),
    key=("id",),
    identity=("id", "updated"),
    thing=("id",),
    entity="ticker",
    knowable=dict.fromkeys(("ticker", "tickers"), "hindsight"),
    source_tag="provider_metadata",
    gap_rules=(
        NO_CREATED,
        BAD_UPDATED,
        NOT_AN_ITEM,
        NO_TEXT,
        SAME_STAMP,
        MORE_PAGES,
        shared.FUTURE,
        *shared.unreadable("title", "teaser", "body", "url", "author", "tickers", "channels", "tags"),
    ),
    warnings=("edited",),
    group="external",
    lane=2,
    partitioned=False,
)
