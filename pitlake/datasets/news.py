"""Contract of dataset `news`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NO_CREATED = GapRule(
    type="unverifiable", reason="created is missing or unreadable", when="News.created is not an instant since 1990"
)
BAD_UPDATED = GapRule(
    type="unverifiable", reason="updated is unreadable", when="News.updated is text but no instant since 1990"
)
NOT_NEWS = GapRule(
    type="unverifiable",
    reason="not a news id",
    when="the id is blank, or a filing's accession number (a misplaced filing)",
)
NO_TEXT = GapRule(type="no_data", reason="no text", when="title, teaser and body are all blank")

DATASET = Dataset(
    name="news",
    title="News articles",
    summary="Benzinga articles as the graph keeps them, one row per text revision of an article.",
    availability=(
        "The later of `created` and `updated`: the graph keeps only the latest text, which is proven public only "
        "since its last update. A text that changes again is a new revision, public at its new `updated` or when "
        "observed."
    ),
    columns=(
        Column(
            name="id",
            type="string",
            required=True,
            meaning="Article id; Benzinga's are `bzNews_` and digits.",
        ),
        Column(name="ticker", type="string", meaning="First ticker the article is about, alphabetically."),
        Column(name="tickers", type="strings", meaning="Every ticker the article is about, sorted."),
        Column(name="title", type="string", meaning="Headline."),
        Column(name="teaser", type="string", meaning="Short text under the headline."),
        Column(name="body", type="string", meaning="Full text; empty for about one article in ten."),
        Column(name="url", type="string", meaning="Address of the article.", pattern="https?://.+"),
        Column(name="authors", type="strings", meaning="Author names."),
        Column(name="channels", type="strings", meaning="Editorial channels, such as Earnings or Guidance."),
        Column(name="tags", type="strings", meaning="Editorial tags, HTML entities resolved."),
        Column(
            name="market_session",
            type="string",
            meaning="pre_market, in_market, post_market or market_closed.",
            values=("pre_market", "in_market", "post_market", "market_closed"),
        ),
        Column(name="created", type="instant", required=True, meaning="When the article first appeared."),
        Column(name="updated", type="instant", meaning="When the text in this row was last changed."),
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
