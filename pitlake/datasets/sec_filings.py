"""Contract of dataset `sec_filings`."""

from dataclasses import replace
from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _external as external
from pitlake.datasets import _shared as shared

NO_ACCEPTANCE = GapRule(
    type="unverifiable",
    reason="acceptance instant missing or unreadable",
    when="neither the JSON nor a header states an instant of acceptance since 1993",
)
NO_ACCESSION = GapRule(
    type="unverifiable", reason="no accession number", when="the row of the answer does not name a filing"
)
TOLD_OTHERWISE = GapRule(
    type="unverifiable",
    reason="stated differently on another page",
    when="pages of one run overlap and describe the filing differently, and the first one counts",
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
        "both, the later reading is used, which is at most five hours late. A fetched SGML header settles the "
        "reading, and so does another download of the same filing that uses the other clock."
    ),
    columns=(
        shared.ACCESSION,
        shared.FORM_TYPE,
        shared.CIK,
        Column(name="accepted_at", type="instant", required=True, meaning="The acceptance as decided."),
        replace(shared.ACCEPTANCE_RULE, required=True),
        shared.RELEASE_RULE,
        Column(
            name="acceptance_raw",
            type="string",
            required=True,
            meaning="The acceptance as the answer spells it.",
            proof=True,
        ),
        Column(name="filing_date", type="date", meaning="EDGAR's filing date: often not the day of acceptance."),
        Column(name="report_date", type="date", meaning="Period the filing covers; never its availability."),
        Column(name="items", type="strings", meaning="Items of an 8-K, such as 2.02."),
        Column(name="act", type="string", meaning="Securities act under which the filing is made, such as 34."),
        Column(name="file_number", type="string", meaning="File number."),
        Column(name="film_number", type="string", meaning="Film number."),
        Column(name="size", type="int", unit="bytes", meaning="Size of the submission."),
        Column(name="is_xbrl", type="bool", meaning="Whether it contains XBRL."),
        Column(name="is_inline_xbrl", type="bool", meaning="Whether it contains inline XBRL."),
        Column(name="primary_document", type="string", meaning="File name of the primary document."),
        Column(
            name="primary_document_description", type="string", meaning="EDGAR's description of the primary document."
        ),
        Column(name="url", type="string", meaning="Address of the primary document, or of the filing's folder."),
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
    partitioned=False,
    freshness=timedelta(days=7),
)
