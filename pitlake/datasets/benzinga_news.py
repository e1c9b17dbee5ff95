"""Contract of dataset `benzinga_news`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_CREATED = GapRule(
    "created is missing or unreadable", "created is not a date with a time and an offset, or before 1990"
)
BAD_UPDATED = GapRule("updated is unreadable", "updated is text but no instant since 1990")
NOT_AN_ITEM = GapRule("not a news item", "the item is not an object, or has no id")
NO_TEXT = GapRule("no text", "title, teaser and body are all blank", type="no_data")
SAME_STAMP = GapRule(
    "two texts under one update", "one run saw different contents with the same id and updated; the longer text is kept"
)
MORE_PAGES = GapRule(
    "more pages than were asked for",
    "the last page that the run was allowed to fetch is full, so older items of the window may be missing",
    type="upstream_error",
)

DATASET = Dataset(
    name="benzinga_news",
    title="Benzinga news",
    summary="Articles as Benzinga's REST interface gives them, one row per text revision of an article.",
    availability=(
        "The later of `created` and `updated`: title and body are the latest text, known to be public only since its "
        "last update. A text that changes without a newer `updated` is a new revision, available when observed."
    ),
    columns=(
        Column("id", "string", "Article id, digits.", required=True, pattern="[0-9]+", strict=True),
        Column("ticker", "string", "First ticker the article is about, alphabetically."),
        Column(
            "tickers",
            "strings",
            ("Every symbol the article is about, sorted; `$` marks crypto. Empty for about a quarter of the articles."),
            required=True,
        ),
        Column("title", "string", "Headline, HTML entities resolved."),
        Column("teaser", "string", "Short text under the headline."),
        Column("body", "string", "Full text, HTML as given."),
        Column("url", "string", "Address of the article."),
        Column("author", "string", "Author's name."),
        Column("channels", "strings", "Editorial channels, such as Earnings.", required=True),
        Column("tags", "strings", "Editorial tags.", required=True),
        Column("created", "instant", "When the article first appeared.", required=True),
        Column("updated", "instant", "When the text in this row was last changed."),
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
)
