"""Contract of dataset `sec_fulltext_hits`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _external as external
from pitlake.datasets import _shared as shared

UNKNOWN_FILING = GapRule(
    type="unverifiable",
    reason="acceptance of the filing is unknown",
    when="a hit does not date its filing, and neither the lake nor a fetched header states its acceptance",
)
MORE_HITS = GapRule(
    type="upstream_error",
    reason="more hits than were fetched",
    when="the search has more hits than it returns (10,000) or than the run was allowed to page through",
)
TOLD_OTHERWISE = GapRule(
    type="unverifiable",
    reason="stated differently on another page",
    when="pages of one run describe the same document of a filing differently, and the first one counts",
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
        Column(name="query", type="string", required=True, meaning="The search text."),
        shared.ACCESSION,
        Column(name="document", type="string", required=True, meaning="File name of the document that matched."),
        shared.FORM_TYPE,
        shared.CIK,
        shared.RELEASE_RULE,
        Column(name="ciks", type="strings", required=True, meaning="Every CIK of the filing, sorted."),
        Column(name="root_forms", type="strings", meaning="Forms without amendment marks."),
        Column(name="file_type", type="string", meaning="Type of the document, such as EX-99.1."),
        Column(name="file_description", type="string", meaning="Description of the document."),
        Column(name="sequence", type="int", meaning="Position of the document in the filing."),
        Column(name="items", type="strings", meaning="Items of an 8-K, such as 2.02."),
        Column(name="filing_date", type="date", meaning="EDGAR's filing date: never the availability."),
        Column(name="period_ending", type="date", meaning="Period the filing covers."),
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
    partitioned=False,
)
