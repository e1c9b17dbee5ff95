"""Contract of dataset `sec_filings`."""

from dataclasses import replace
from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _external as external
from pitlake.datasets import _shared as shared

NO_ACCEPTANCE = GapRule(
    "acceptance instant missing or unreadable",
    "neither the JSON nor a header gives an instant of acceptance since 1993",
)
NO_ACCESSION = GapRule("no accession number", "the row of the answer does not name a filing")
TOLD_OTHERWISE = GapRule(
    "stated differently on another page",
    "pages of one run overlap and describe the filing differently, and the first one is used",
)

DATASET = Dataset(
    name="sec_filings",
    title="EDGAR filings",
    summary=(
        "Every filing that EDGAR lists for a company, person or fund, one row per registrant. The dataset has no "
        "names or tickers, because EDGAR lists only today's. `names` has the names and tickers of each time, by CIK."
    ),
    availability=(
        "EDGAR's release: the acceptance, or 07:30 New York on the filing date if that is after the New York day of "
        "acceptance. The JSON's `Z` means UTC in some downloads and New York time in others. If EDGAR's hours allow "
        "both, the later reading is used; if that is after 17:33, most forms are public at 07:30 on the next business "
        "day. A fetched SGML header settles the reading, and so does another download of the same filing that uses the "
        "other clock."
    ),
    columns=(
        shared.ACCESSION,
        shared.FORM_TYPE,
        shared.CIK,
        Column("accepted_at", "instant", "The acceptance as decided.", required=True),
        replace(shared.ACCEPTANCE_RULE, required=True),
        shared.RELEASE_RULE,
        Column("acceptance_raw", "string", "The acceptance as the answer writes it.", required=True, proof=True),
        Column("filing_date", "date", "EDGAR's filing date: often not the day of acceptance."),
        Column("report_date", "date", "Period the filing covers; never its availability."),
        Column("items", "strings", "Items of an 8-K, such as 2.02."),
        Column("act", "string", "Securities act under which the filing is made, such as 34."),
        Column("file_number", "string", "File number."),
        Column("film_number", "string", "Film number."),
        Column("size", "int", "Size of the submission.", unit="bytes"),
        Column("is_xbrl", "bool", "Whether it contains XBRL."),
        Column("is_inline_xbrl", "bool", "Whether it contains inline XBRL."),
        Column("primary_document", "string", "File name of the primary document."),
        Column("primary_document_description", "string", "EDGAR's description of the primary document."),
        Column("url", "string", "Address of the primary document, or of the filing's folder."),
    ),
    key=("cik", "accession_no"),
    entity="cik",
    alike=("form_type",),
    knowable=dict.fromkeys(("accepted_at", "acceptance_rule", "url"), "lake"),
    source_tag="edgar_accepted",
    gap_rules=(
        NO_ACCEPTANCE,
        NO_ACCESSION,
        TOLD_OTHERWISE,
        shared.WITHHELD,
        shared.FUTURE,
        *external.ANSWERS,
        *shared.unreadable(
            "form_type",
            "filing_date",
            "report_date",
            "items",
            "act",
            "file_number",
            "film_number",
            "size",
            "is_xbrl",
            "is_inline_xbrl",
            "primary_document",
            "primary_document_description",
        ),
    ),
    group="external",
    freshness=timedelta(days=7),
)
