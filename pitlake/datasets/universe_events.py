"""Contract of dataset `universe_events`."""

from datetime import timedelta

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _external as external
from pitlake.datasets import _shared as shared
from pitlake.datasets import sec_filings as filings

OFFERED, REGISTERED, LISTED, REPORTED = "offered", "registered", "listed", "reported"
NOTIFIED, RENAMED, DELISTED, DEREGISTERED = "notified", "renamed", "delisted", "deregistered"
EVENTS = (OFFERED, REGISTERED, LISTED, REPORTED, NOTIFIED, RENAMED, DELISTED, DEREGISTERED)
INDEX, SUBMISSIONS = "index", "submissions"

UNDATED_NAME = GapRule(
    type="unverifiable",
    reason="no filing under the new name",
    when="a former name's days overlap the next one's, or no filing that EDGAR lists follows them, so nothing dates it",
)

DATASET = Dataset(
    name="universe_events",
    title="Registrations, listings and their ends",
    summary=(
        "What made a company part of the market or took it out: one row a filing that registers, lists, delists or "
        "deregisters a class, a report as proof of life, and the first filing under a new name. From EDGAR's "
        "indexes, which keep the dead, and from registrants' submissions; the query `universe` puts them together."
    ),
    availability=(
        "The filing's own availability, as in sec_filings. What an index alone tells counts at the END of the filing "
        "date in New York, or of the index's last day where the filing is older than the index. The day a filing takes "
        "effect is another column and never its availability."
    ),
    columns=(
        shared.CIK,
        shared.ACCESSION,
        Column(
            name="event",
            type="string",
            required=True,
            values=EVENTS,
            strict=True,
            meaning="What the filing does: offered (S-1, F-1, S-11), registered (10-12B, 10-12G, 8-A12G, 424B1, 424B3, "
            "424B4), listed (8-A12B, an exchange's CERT), reported (10-K, 10-Q, 20-F, 40-F), notified (8-K with item "
            "3.01, a notice of delisting or of a listing rule failed; from submissions alone), renamed, delisted (25, "
            "25-NSE), deregistered (15, 15F, REVOKED).",
        ),
        Column(
            name="told_by",
            type="string",
            required=True,
            values=(INDEX, SUBMISSIONS),
            strict=True,
            meaning="The EDGAR list that reports it.",
        ),
        shared.FORM_TYPE,
        shared.RELEASE_RULE,
        Column(
            name="company_name",
            type="string",
            meaning="Name on the filing: as its index spells it, or the new name; null if only submissions state it.",
        ),
        Column(name="former_name", type="string", meaning="Name until then; of `renamed` alone."),
        Column(name="exchange", type="string", meaning="Exchange that certifies or removes, where the filing says so."),
        Column(name="security_class", type="string", meaning="Class that is removed, in the words of Form 25."),
        Column(
            name="common_equity",
            type="bool",
            meaning="Whether that class is common equity, by its words; null where the filing names none.",
        ),
        Column(name="rule_provision", type="string", meaning="Rule of the removal, such as 17 CFR 240.12d2-2(b)."),
        Column(name="filing_date", type="date", required=True, meaning="EDGAR's filing date."),
        Column(
            name="effective_on",
            type="date",
            meaning="Day it takes effect by law: Form 25 ten days after filing, Form 15 under 12(b) or 12(g) and Form "
            "15F ninety, 15-15D and REVOKED at once; null for the rest.",
        ),
    ),
    key=("cik", "accession_no", "event", "told_by"),
    entity="cik",
    source_tag="edgar_accepted",
    gap_rules=(
        UNDATED_NAME,
        filings.NO_ACCEPTANCE,
        filings.NO_ACCESSION,
        filings.TOLD_OTHERWISE,
        shared.WITHHELD,
        shared.FUTURE,
        *external.ANSWERS,
        *shared.unreadable("filing_date"),
    ),
    group="external",
    partitioned=False,
    freshness=timedelta(days=7),
)
