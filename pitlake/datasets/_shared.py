"""Columns with the same meaning in several datasets, defined once so that they stay identical."""

from dataclasses import replace

from pitlake.contract import Column, DriftLimits, GapRule

PRICES = ("open", "high", "low", "close")
BAR_RULES = (
    *(f"{price} > 0" for price in PRICES),
    *(f"high >= {price}" for price in PRICES if price != "high"),
    *(f"low <= {price}" for price in PRICES if price not in {"low", "high"}),
    "volume >= 0",
)
"""The rules of every bar of a share, a fund or an index. A volume of 0 is valid."""

RESTATED_BARS = DriftLimits(together=PRICES, magnitude=300.0)
"""Limits for bars: a split restates a whole history by one factor, and a reverse split by a factor of up to 250."""

ACCESSION = Column(
    "accession_no",
    "string",
    "EDGAR accession number of the filing, with hyphens.",
    required=True,
    pattern="[0-9]{10}-[0-9]{2}-[0-9]{6}",
)
FORM_TYPE = Column(
    "form_type",
    "string",
    'EDGAR form type; amendments end in "/A".',
    pattern="[0-9A-Z](?:[0-9A-Z -]*[0-9A-Z])?(?:/[A-Z]{1,3})?",
)
CIK = Column(
    "cik",
    "string",
    "Central Index Key of the filing company, 10 digits, zero-padded.",
    pattern="[0-9]{10}",
    strict=True,
)
LINKED_CIK = replace(CIK, meaning="Central Index Key of the linked company; null if there is none or several.")
TICKER = Column("ticker", "string", "Ticker of the company as the graph names it today.")

ACCEPTANCE_RULE = Column(
    "acceptance_rule",
    "string",
    "Rule that decided the acceptance; under the rules later_reading and date_only, the time of day is unproven.",
    values=("sgml_header", "offset", "new_york_clock", "utc", "two_readings", "later_reading", "date_only"),
    strict=True,
    proof=True,
)
ACCEPTED_AT = Column(
    "accepted_at",
    "instant",
    "When EDGAR accepted the filing; it orders two filings that were released together.",
    proof=True,
)
UNPROVEN = frozenset({"later_reading", "date_only"})
BY_FILING_DATE, BY_CLOCK, BY_ACCEPTANCE = "filing_date", "form_and_clock", "acceptance"
RELEASE_RULE = Column(
    "release_rule",
    "string",
    (
        "Basis of the release time: the filing date; the form and the time of acceptance, if no filing date is known "
        "or the filing was accepted too late to be shown on that date; or the acceptance alone, if the lake is "
        "configured so."
    ),
    values=(BY_FILING_DATE, BY_CLOCK, BY_ACCEPTANCE),
    strict=True,
    proof=True,
)

FILING = (ACCESSION, FORM_TYPE, CIK, TICKER, RELEASE_RULE)

FILED = (
    "EDGAR's release of the filing: its acceptance (Report.created). A filing accepted after 17:30 New York, or "
    "after 22:00 for some forms, is released at 07:30 on the next business day. Its contents become public with it."
)

UNDATED_FILING = GapRule("acceptance instant missing or unreadable", "Report.created is not an instant since 1990")
WITHHELD = GapRule(
    "made public after its acceptance",
    (
        "letters to or from SEC staff, draft registrations and draft offering statements are withheld for weeks, and "
        "no source gives the day of their release"
    ),
)
NO_FILING = GapRule("no parent filing", "the content node is not linked to a Report, so it has no date")
NO_CLOSE = GapRule("no market close on that day", "the linked Date is not a trading day, so its close is absent")
STRAY_CLOSE = GapRule(
    "market close is on another day", "the close of the linked Date is not on that Date's New York day"
)
NO_DATE = GapRule("no date node", "no Date is linked, so the record has no date")
NO_TICKER = GapRule("no ticker", "the node's ticker is blank")
FUTURE = GapRule("not public yet", "the availability is later than the run itself", type="pit_excluded")
FILING_GAPS = (UNDATED_FILING, WITHHELD, NO_FILING, FUTURE)


def unreadable(*columns: str) -> tuple[GapRule, ...]:
    """Return one rule per column. A field with an invalid value makes the whole record a gap, because replacing the
    value with null would lose it silently.
    """
    return tuple(
        GapRule(
            f"{column} is unreadable",
            f"the source field of `{column}` is required and missing, or has an invalid value",
        )
        for column in columns
    )
