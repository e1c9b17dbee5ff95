"""Contract of dataset `yahoo_upgrades`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _figures as figures
from pitlake.datasets import _shared as shared

NO_DATE = GapRule(
    type="unverifiable",
    reason="grade date is missing or unreadable",
    when="epochGradeDate is not an instant since 1990",
)
NO_FIRM = GapRule(type="unverifiable", reason="no firm", when="the rating names no firm")

DATASET = Dataset(
    name="yahoo_upgrades",
    title="Analyst ratings of Yahoo",
    summary="Upgrades, downgrades, initiations and reiterations by firm, with price targets if stated.",
    availability=(
        "The END, in New York, of the rating's day in UTC or in New York, whichever is later, because the source's "
        "times of day are not proven. This is at most two days late. A price target counts from the fetch "
        "unless polls of the company's splits prove that none followed."
    ),
    columns=(
        Column(name="ticker", type="string", required=True, meaning="The requested symbol."),
        Column(name="firm", type="string", required=True, meaning="Firm that issued the rating."),
        Column(
            name="first_stated",
            type="instant",
            required=True,
            meaning="Instant first stated for the rating, which identifies it if the source corrects it.",
        ),
        Column(
            name="graded_at", type="instant", required=True, meaning="Instant of the rating, as stated; not proven."
        ),
        Column(name="to_grade", type="string", meaning="New rating, in the firm's words."),
        Column(name="from_grade", type="string", meaning="The rating before."),
        Column(
            name="action",
            type="string",
            meaning="up, down, init, main or reit.",
            values=("up", "down", "init", "main", "reit"),
        ),
        Column(name="price_target_action", type="string", meaning="Raises, Lowers, Maintains or Announces."),
        Column(
            name="current_price_target",
            type="float",
            unit="USD",
            meaning="New price target; null if there is none.",
            minimum=0,
        ),
        Column(name="prior_price_target", type="float", unit="USD", meaning="Previous price target.", minimum=0),
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
    partitioned=False,
    freshness=timedelta(days=30),
)
