"""Contract of dataset `call_slides`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _earnings as earnings

NOT_A_PDF = GapRule("no PDF", "the answer is not a PDF", type="upstream_error")

DATASET = Dataset(
    name="call_slides",
    title="Slides of earnings calls",
    summary=(
        "Slide decks from earningscall.biz: their description, and the hash under which the capture stores the PDF."
    ),
    availability=earnings.PUBLISHED,
    columns=(
        *earnings.CALL,
        earnings.START,
        earnings.FILE_MODIFIED,
        Column(
            "sha256",
            "string",
            "Hash of the PDF, under which the capture stores it.",
            required=True,
            pattern="[0-9a-f]{64}",
            strict=True,
        ),
        Column("size", "int", "Size of the PDF.", required=True, unit="bytes", minimum=1, strict=True),
    ),
    key=earnings.KEY,
    entity="ticker",
    knowable={**dict.fromkeys(("exchange", "ticker"), "hindsight"), **dict.fromkeys(("sha256", "size"), "lake")},
    source_tag="provider_metadata",
    gap_rules=(NOT_A_PDF, *earnings.RULES),
    group="external",
    lane=2,
)
