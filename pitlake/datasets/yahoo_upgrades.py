"""Contract of dataset `yahoo_upgrades`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DATE = GapRule("grade date is missing or unreadable", "epochGradeDate is not an instant since 1990")
NO_FIRM = GapRule("no firm", "the rating names no firm")

DATASET = Dataset(
    name="yahoo_upgrades",
    title="Analyst ratings of Yahoo",
    summary="Upgrades, downgrades, initiations and reiterations by firm, with price targets if stated.",
    availability=(
        "The end of the rating's day in New York. It is the day in UTC or in New York, whichever is later, because the "
        "source's times of day are not proven. This is at most two days late. A price target is available from the "
        "fetch unless polls of the company's splits prove that no split followed."
    ),
    columns=(
        Column("ticker", "string", "The requested symbol.", required=True),
        Column("firm", "string", "Firm that issued the rating.", required=True),
        Column(
            "first_stated",
            "instant",
            "Instant first stated for the rating, which identifies it if the source corrects it.",
            required=True,
        ),
        Column("graded_at", "instant", "Instant of the rating, as stated; not proven.", required=True),
        Column("to_grade", "string", "New rating, in the firm's words."),
        Column("from_grade", "string", "The rating before."),
        Column("action", "string", "up, down, init, main or reit.", values=("up", "down", "init", "main", "reit")),
        Column("price_target_action", "string", "Raises, Lowers, Maintains or Announces."),
        Column("current_price_target", "float", "New price target; null if there is none.", unit="USD", minimum=0),
        Column("prior_price_target", "float", "Previous price target.", unit="USD", minimum=0),
    ),
    key=("ticker", "firm", "first_stated"),
    entity="ticker",
    knowable={"ticker": "hindsight", "first_stated": "lake"},
    source_tag="provider_metadata",
    gap_rules=(
        shared.FUTURE,
        NO_DATE,
        NO_FIRM,
        figures.TOLD_TWICE,
        *shared.unreadable(
            "current_price_target", "prior_price_target", "to_grade", "from_grade", "action", "price_target_action"
        ),
    ),
    group="external",
    lane=2,
    freshness=timedelta(days=30),
)
