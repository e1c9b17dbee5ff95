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
    "no filing under the new name",
    (
        "the days of a former name overlap the next one's, or EDGAR lists no filing after them, so the new name has no "
        "date"
    ),
)

DATASET = Dataset(
    name="universe_events",
    title="Registrations, listings and their ends",
    summary=(
        "Events by which companies enter or leave the market. There is one row per filing that registers, lists, "
        "delists or deregisters a class, per report as proof that the company exists, and per first filing under a "
        "new name. They come from EDGAR's indexes, which keep companies that no longer exist, and from registrants' "
        "submissions. The query `universe` combines them."
    ),
    availability=(
        "The filing's own availability, as in sec_filings. A filing known only from an index is available from 07:30 "
        "of the next business day after its filing date, or after the index's last day if the filing is older than the "
        "index. A new name is available when `names` has it: at the end of the day of the first filing that the "
        "company itself made under it, and after every poll that saw the old name. The day a filing takes effect is a "
        "separate column, never its availability."
    ),
    columns=(
        shared.CIK,
        shared.ACCESSION,
        Column(
            "event",
            "string",
            (
                "What the filing does: offered (S-1, F-1, S-11), registered (10-12B, 10-12G, 8-A12G, 424B1, 424B3, "
                "424B4), listed (8-A12B, an exchange's CERT), reported (10-K, 10-Q, 20-F, 40-F), notified (8-K with "
                "item 3.01, a notice of delisting or of a violated listing rule; only from submissions), renamed, "
                "delisted (25, 25-NSE), deregistered (15, 15F, REVOKED)."
            ),
            required=True,
            values=EVENTS,
            strict=True,
        ),
        Column(
            "told_by",
            "string",
            "The EDGAR list that reports it.",
            required=True,
            values=(INDEX, SUBMISSIONS),
            strict=True,
        ),
        shared.FORM_TYPE,
        shared.RELEASE_RULE,
        Column(
            "company_name",
            "string",
            "Name on the filing: as its index writes it, or the new name; null if only submissions have it.",
        ),
        Column("former_name", "string", "Previous name; only for `renamed`."),
        Column("exchange", "string", "Exchange that certifies or removes the class, if the filing says so."),
        Column("security_class", "string", "Removed class, in the words of Form 25."),
        Column("common_equity", "bool", "Whether the words name common equity; null if the filing names no class."),
        Column("rule_provision", "string", "Rule of the removal, such as 17 CFR 240.12d2-2(b)."),
        Column("filing_date", "date", "EDGAR's filing date.", required=True),
        Column(
            "effective_on",
            "date",
            (
                "Day the filing takes effect by law: ten days after filing for Form 25, ninety for Form 15 under 12(b) "
                "or 12(g) and Form 15F, and immediately for 15-15D and REVOKED. Null for other forms."
            ),
        ),
    ),
    key=("cik", "accession_no", "event", "told_by"),
    entity="cik",
    alike=("event",),
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
    freshness=timedelta(days=7),
)
