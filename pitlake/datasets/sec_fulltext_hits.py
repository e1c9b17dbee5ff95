"""Contract of dataset `sec_fulltext_hits`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _external as external
from pitlake.datasets import _shared as shared

UNKNOWN_FILING = GapRule(
    "acceptance of the filing is unknown",
    "a hit does not date its filing, and neither the lake nor a fetched header gives its acceptance",
)
MORE_HITS = GapRule(
    "more hits than were fetched",
    "the search has more hits than it returns (10,000) or than the run was allowed to page through",
    type="upstream_error",
)
TOLD_OTHERWISE = GapRule(
    "stated differently on another page",
    "pages of one run describe the same document of a filing differently, and the first one is used",
)

DATASET = Dataset(
    name="sec_fulltext_hits",
    title="EDGAR full-text search hits",
    summary=(
        "Documents of filings that matched a full-text search of EDGAR. A hit shows where a text occurs; it never "
        "dates a row."
    ),
    availability=(
        "EDGAR's release of the filing, from its acceptance in the lake or in its SGML header. Names, tickers and "
        "scores are not kept, because the search returns today's."
    ),
    columns=(
        Column("query", "string", "The search text.", required=True),
        shared.ACCESSION,
        Column("document", "string", "File name of the document that matched.", required=True),
        shared.FORM_TYPE,
        shared.CIK,
        shared.RELEASE_RULE,
        Column("ciks", "strings", "Every CIK of the filing, sorted.", required=True),
        Column("root_forms", "strings", "Forms without amendment marks."),
        Column("file_type", "string", "Type of the document, such as EX-99.1."),
        Column("file_description", "string", "Description of the document."),
        Column("sequence", "int", "Position of the document in the filing."),
        Column("items", "strings", "Items of an 8-K, such as 2.02."),
        Column("filing_date", "date", "EDGAR's filing date: never the availability."),
        Column("period_ending", "date", "Period the filing covers."),
    ),
    key=("query", "accession_no", "document"),
    entity="cik",
    knowable={"query": "asked"},
    source_tag="edgar_accepted",
    gap_rules=(
        UNKNOWN_FILING,
        MORE_HITS,
        TOLD_OTHERWISE,
        shared.WITHHELD,
        shared.FUTURE,
        *external.ANSWERS,
        *shared.unreadable(
            "accession_no",
            "document",
            "form_type",
            "cik",
            "ciks",
            "root_forms",
            "file_type",
            "file_description",
            "sequence",
            "items",
            "filing_date",
            "period_ending",
        ),
    ),
    group="external",
    lane=2,
)
