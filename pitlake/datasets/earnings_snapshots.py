"""Contract of dataset `earnings_snapshots`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NOTHING_KNOWN = GapRule(
    type="no_data",
    reason="no data was available at that time",
    when="a section of the snapshot has no value at its instant",
)
SECTIONS = ("call", "consensus", "facts", "filings", "macro", "news", "prices", "returns", "surprises")

DATASET = Dataset(
    name="earnings_snapshots",
    title="Earnings snapshots",
    summary=(
        "What an analyst knew of a company at an instant around EDGAR's release of its earnings, one row per value. "
        "It is the answer of the named query earnings_snapshot in a session as of that instant. It is frozen: a "
        "rebuild must give the same rows."
    ),
    availability=(
        "The instant of the snapshot, but never before the release that the row names. Changes and additions by a "
        "rebuild are public when observed."
    ),
    columns=(
        shared.ACCESSION,
        Column(name="ticker", type="string", required=True, meaning="Ticker of the company."),
        Column(name="event_at", type="instant", required=True, meaning="The event: its filing's acceptance."),
        shared.RELEASE_RULE,
        Column(
            name="anchor",
            type="string",
            required=True,
            meaning="before_release, at_release, next_open, or minutes from the release such as -60 or +30.",
        ),
        Column(name="as_of", type="instant", required=True, meaning="The instant of the snapshot."),
        Column(name="section", type="string", required=True, values=SECTIONS, strict=True, meaning="Kind of value."),
        Column(name="name", type="string", required=True, meaning="Name of the value, unique in its section."),
        Column(name="value", type="float", unit="`unit`", meaning="The value; null if it is a text."),
        Column(name="text", type="string", meaning="The value as filed, or its text."),
        Column(name="unit", type="string", meaning="Unit of the value."),
        Column(name="form_type", type="string", meaning="EDGAR form type of the filing that states a reported value."),
        Column(name="stated_in", type="string", meaning="Accession number of that filing."),
        Column(name="known_at", type="instant", meaning="When the newest row behind the value became public."),
        Column(name="withdrawn", type="bool", required=True, meaning="Whether a rebuild no longer finds the value."),
        Column(name="evidence_ids", type="strings", meaning="Evidence of every row behind the value."),
    ),
    key=("accession_no", "anchor", "section", "name"),
    gap_names=("earnings:{accession_no}/{anchor}/{section}",),
    entity="ticker",
    knowable={
        **dict.fromkeys(("ticker", "evidence_ids"), "hindsight"),
        **dict.fromkeys(
            (
                "anchor",
                "as_of",
                "section",
                "name",
                "value",
                "text",
                "unit",
                "form_type",
                "stated_in",
                "known_at",
                "withdrawn",
            ),
            "lake",
        ),
    },
    rules=("known_at <= as_of",),
    source_tag="edgar_accepted",
    gap_rules=(NOTHING_KNOWN, shared.FUTURE),
    group="derived",
    cites="the receipt of the answer it was built from",
    partitioned=False,
    frozen=("accession_no", "anchor"),
)
