"""Contract of dataset `call_calendar`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _earnings as earnings
from pitlake.datasets import _shared as shared

DATASET = Dataset(
    name="call_calendar",
    title="Calendar of earnings calls",
    summary="The calls earningscall.biz lists for a day, of all companies.",
    availability=earnings.FETCHED,
    columns=(
        *earnings.CALL,
        earnings.START,
        Column("stated_start", "string", "The start as stated, with the company's own offset."),
        Column("company_name", "string", "Name of the company."),
        Column("transcript_ready", "bool", "Whether a transcript was available when fetched."),
        Column("listed_on", "date", "Day of the calendar page.", required=True),
    ),
    key=(*earnings.KEY, "listed_on"),
    entity="ticker",
    source_tag="provider_metadata",
    gap_rules=(*earnings.RULES, *shared.unreadable("stated_start", "company_name", "transcript_ready", "listed_on")),
    group="external",
    lane=2,
)
