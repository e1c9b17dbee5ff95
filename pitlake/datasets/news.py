"""Contract of dataset `news`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_CREATED = GapRule("created is missing or unreadable", "News.created is not an instant since 1990")
BAD_UPDATED = GapRule("updated is unreadable", "News.updated is text but no instant since 1990")
NOT_NEWS = GapRule("not a news id", "the id is blank, or a filing's accession number (a misplaced filing)")
NO_TEXT = GapRule("no text", "title, teaser and body are all blank", type="no_data")

DATASET = Dataset(
    name="news",
    title="News articles",
    summary="Benzinga articles as the graph keeps them, one row per text revision of an article.",
    availability=(
        "The later of `created` and `updated`: the graph keeps only the latest text, known to be public only since its "
        "last update. A text that changes again is a new revision, public at its new `updated` or when observed."
    ),
    columns=(
        Column("id", "string", "Article id; Benzinga's are `bzNews_` and digits.", required=True),
        Column("ticker", "string", "First ticker the article is about, alphabetically."),
        Column("tickers", "strings", "Every ticker the article is about, sorted."),
        Column("title", "string", "Headline."),
        Column("teaser", "string", "Short text under the headline."),
        Column("body", "string", "Full text; empty for about one article in ten."),
        Column("url", "string", "Address of the article.", pattern="https?://.+"),
        Column("authors", "strings", "Author names."),
        Column("channels", "strings", "Editorial channels, such as Earnings or Guidance."),
        Column("tags", "strings", "Editorial tags, HTML entities resolved."),
        Column(
            "market_session",
            "string",
            "pre_market, in_market, post_market or market_closed.",
            values=("pre_market", "in_market", "post_market", "market_closed"),
        ),
        Column("created", "instant", "When the article first appeared.", required=True),
        Column("updated", "instant", "When the text in this row was last changed."),
    ),
    key=("id",),
    entity="ticker",
    knowable=dict.fromkeys(("ticker", "tickers"), "hindsight"),
    source_tag="neo4j_created",
    revised_at="updated",
    searched=("title", "teaser", "body"),
    gap_rules=(
        NO_CREATED,
        BAD_UPDATED,
        NOT_NEWS,
        NO_TEXT,
        shared.FUTURE,
        *shared.unreadable("authors", "channels", "tags"),
    ),
    warnings=("edited",),
    freshness=timedelta(days=3),
)
