"""Contract of dataset `earnings_snapshots`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _shared as shared

NOTHING_KNOWN = GapRule(
    "no data was available at that time", "a section of the snapshot has no value at its instant", type="no_data"
)
SECTIONS = ("call", "consensus", "facts", "filings", "macro", "news", "prices", "returns", "surprises")

DATASET = Dataset(
    name="earnings_snapshots",
    title="Earnings snapshots",
    summary=(
        "What an analyst could know about a company at an instant near EDGAR's release of its earnings, one row per "
        "value. It is the result of the named query earnings_snapshot in a session as of that instant. It is frozen: a "
        "rebuild must give the same rows."
    ),
    availability=(
        "The instant of the snapshot, but never before the release that the row names. Changes and additions by a "
        "rebuild are public when observed."
    ),
    columns=(
        shared.ACCESSION,
        Column("ticker", "string", "Ticker of the company.", required=True),
        Column("event_at", "instant", "The event: its filing's acceptance.", required=True),
        shared.RELEASE_RULE,
        Column(
            "anchor",
            "string",
            "before_release, at_release, next_open, or minutes from the release such as -60 or +30.",
            required=True,
        ),
        Column("as_of", "instant", "The instant of the snapshot.", required=True),
        Column("section", "string", "Kind of value.", required=True, values=SECTIONS, strict=True),
        Column("name", "string", "Name of the value, unique in its section.", required=True),
        Column("value", "float", "The value; null if it is a text.", unit="`unit`"),
        Column("text", "string", "The value as filed, or its text."),
        Column("unit", "string", "Unit of the value."),
        Column("form_type", "string", "EDGAR form type of the filing that states a reported value."),
        Column("stated_in", "string", "Accession number of that filing."),
        Column("known_at", "instant", "When the newest row behind the value became public."),
        Column("withdrawn", "bool", "Whether a rebuild no longer finds the value.", required=True),
        Column("evidence_ids", "strings", "Evidence of every row behind the value."),
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
    frozen=("accession_no", "anchor"),
)
