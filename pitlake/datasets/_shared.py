"""Columns that mean the same in several datasets, written once so that they stay the same. No dataset lives here."""

from pitlake.contract import Column, GapRule

ACCESSION = Column(
    name="accession_no",
    type="string",
    required=True,
    meaning="EDGAR accession number of the filing, with hyphens.",
    pattern="[0-9]{10}-[0-9]{2}-[0-9]{6}",
)
FORM_TYPE = Column(name="form_type", type="string", meaning='EDGAR form type; amendments end in "/A".')
CIK = Column(
    name="cik",
    type="string",
    meaning="Central Index Key of the filing company, 10 digits, zero-padded.",
    pattern="[0-9]{10}",
    strict=True,
)
TICKER = Column(name="ticker", type="string", meaning="Ticker of the company as the graph names it today.")

FILING = (ACCESSION, FORM_TYPE, CIK, TICKER)

FILED = "The filing's EDGAR acceptance instant (Report.created); content inherits it from its filing."

UNDATED_FILING = GapRule(
    type="unverifiable",
    reason="acceptance instant missing or unreadable",
    when="Report.created is no instant since 1990",
)
NO_FILING = GapRule(
    type="unverifiable", reason="no parent filing", when="the content node hangs on no Report, so nothing dates it"
)
NO_CLOSE = GapRule(
    type="unverifiable",
    reason="no market close on that day",
    when="the linked Date is no trading day, so its close is absent",
)
STRAY_CLOSE = GapRule(
    type="unverifiable",
    reason="market close lies on another day",
    when="the close of the linked Date is not on the New York day the Date names",
)
NO_DATE = GapRule(type="unverifiable", reason="no date node", when="the record hangs on no Date, so nothing dates it")
NO_TICKER = GapRule(type="unverifiable", reason="no ticker", when="the node's ticker is blank")
FUTURE = GapRule(
    type="pit_excluded", reason="not public yet", when="the availability lies after the run's own observation"
)


def unreadable(*columns: str) -> tuple[GapRule, ...]:
    """One rule a column: a field that holds something, but not what it promises, makes the whole record a gap.

    Putting null in its place would lose it silently.
    """
    return tuple(
        GapRule(
            type="unverifiable",
            reason=f"{column} is unreadable",
            when=f"the source field behind `{column}` is required and absent, or holds what it can't",
        )
        for column in columns
    )
