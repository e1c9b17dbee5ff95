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
        Column(name="stated_start", type="string", meaning="The start as stated, with the company's own offset."),
        Column(name="company_name", type="string", meaning="Name of the company."),
        Column(name="transcript_ready", type="bool", meaning="Whether a transcript was available when fetched."),
        Column(name="listed_on", type="date", required=True, meaning="Day of the calendar page."),
    ),
    key=(*earnings.KEY, "listed_on"),
    entity="ticker",
    source_tag="provider_metadata",
    gap_rules=(*earnings.RULES, *shared.unreadable("stated_start", "company_name", "transcript_ready", "listed_on")),
    group="external",
    lane=2,
    partitioned=False,
)
