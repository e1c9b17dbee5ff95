"""Columns with the same meaning in several datasets, defined once so that they stay the same. No dataset lives here."""

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

RESTATED_BARS = DriftLimits(revised=None, magnitude=300.0)
"""Limits for bars: a split restates a whole history, and a reverse split by a factor of up to 250."""

ACCESSION = Column(
    name="accession_no",
    type="string",
    required=True,
    meaning="EDGAR accession number of the filing, with hyphens.",
    pattern="[0-9]{10}-[0-9]{2}-[0-9]{6}",
)
FORM_TYPE = Column(
    name="form_type",
    type="string",
    meaning='EDGAR form type; amendments end in "/A".',
    pattern="[0-9A-Z](?:[0-9A-Z -]*[0-9A-Z])?(?:/[A-Z]{1,3})?",
)
CIK = Column(
    name="cik",
    type="string",
    meaning="Central Index Key of the filing company, 10 digits, zero-padded.",
    pattern="[0-9]{10}",
    strict=True,
)
LINKED_CIK = replace(CIK, meaning="Central Index Key of the linked company; null if there is none or several.")
TICKER = Column(name="ticker", type="string", meaning="Ticker of the company as the graph names it today.")

ACCEPTANCE_RULE = Column(
    name="acceptance_rule",
    type="string",
    values=("sgml_header", "offset", "new_york_clock", "utc", "two_readings", "later_reading", "date_only"),
    strict=True,
    meaning="Rule that decided the acceptance; under the rules later_reading and date_only, the time of day is "
    "unproven.",
    proof=True,
)
ACCEPTED_AT = Column(
    name="accepted_at",
    type="instant",
    meaning="When EDGAR accepted the filing; it orders two filings that were released together.",
    proof=True,
)
UNPROVEN = frozenset({"later_reading", "date_only"})
BY_FILING_DATE, BY_CLOCK, BY_ACCEPTANCE = "filing_date", "form_and_clock", "acceptance"
RELEASE_RULE = Column(
    name="release_rule",
    type="string",
    values=(BY_FILING_DATE, BY_CLOCK, BY_ACCEPTANCE),
    strict=True,
    meaning=(
        "Basis of the release time: the filing date; the form and the time of acceptance, if no filing date is "
        "known or it is not after an acceptance too late for that day; or only the acceptance, if the lake is "
        "configured so."
    ),
    proof=True,
)

FILING = (ACCESSION, FORM_TYPE, CIK, TICKER, RELEASE_RULE)

FILED = (
    "EDGAR's release of the filing: its acceptance (Report.created). A filing accepted after 17:30 New York, or "
    "after 22:00 for some forms, is released at 07:30 on the next business day. Its contents become public with it."
)

UNDATED_FILING = GapRule(
    type="unverifiable",
    reason="acceptance instant missing or unreadable",
    when="Report.created is not an instant since 1990",
)
WITHHELD = GapRule(
    type="unverifiable",
    reason="made public after its acceptance",
    when=(
        "letters to or from SEC staff, draft registrations and draft offering statements are withheld for weeks, and "
        "no source states the day of their release"
    ),
)
NO_FILING = GapRule(
    type="unverifiable",
    reason="no parent filing",
    when="the content node is not linked to a Report, so nothing dates it",
)
NO_CLOSE = GapRule(
    type="unverifiable",
    reason="no market close on that day",
    when="the linked Date is not a trading day, so its close is absent",
)
STRAY_CLOSE = GapRule(
    type="unverifiable",
    reason="market close is on another day",
    when="the close of the linked Date is not on that Date's New York day",
)
NO_DATE = GapRule(type="unverifiable", reason="no date node", when="no Date is linked, so nothing dates it")
NO_TICKER = GapRule(type="unverifiable", reason="no ticker", when="the node's ticker is blank")
FUTURE = GapRule(type="pit_excluded", reason="not public yet", when="the availability is later than the run itself")
FILING_GAPS = (UNDATED_FILING, WITHHELD, NO_FILING, FUTURE)


def unreadable(*columns: str) -> tuple[GapRule, ...]:
    """Return one rule per column: a field with an invalid value makes the whole record a gap. Replacing the value with
    null would lose it silently.
    """
    return tuple(
        GapRule(
            type="unverifiable",
            reason=f"{column} is unreadable",
            when=f"the source field of `{column}` is required and missing, or has an invalid value",
        )
        for column in columns
    )
