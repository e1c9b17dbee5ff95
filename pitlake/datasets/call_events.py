"""Contract of dataset `call_events`."""

from pitlake.contract import Column, Dataset
from pitlake.datasets import _earnings as earnings

DATASET = Dataset(
    name="call_events",
    title="Earnings calls of a company",
    summary="The past and future calls that earningscall.biz lists for a company.",
    availability=earnings.FETCHED,
    columns=(
        *earnings.CALL,
        earnings.START,
        Column("stated_start", "string", "The start as stated, with the company's own offset."),
        Column("company_name", "string", "Name of the company."),
    ),
    key=earnings.KEY,
    entity="ticker",
    source_tag="provider_metadata",
    gap_rules=earnings.RULES,
    group="external",
    lane=2,
)
