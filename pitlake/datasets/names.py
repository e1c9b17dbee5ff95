"""Contract of dataset `names`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _external as external
from pitlake.datasets import _shared as shared

KINDS = ("company_name", "ticker")
EDGAR_NAME, EDGAR_TICKERS, HEADER, DEI, GRAPH = "edgar_name", "edgar_tickers", "sgml_header", "dei", "companies"

UNDATED_NAME = GapRule(
    "nothing dates the name's first day",
    (
        "EDGAR's days of two names overlap, an earlier poll did not know the name, or a rename has no former name. The "
        "name is available from the company's own first filing after everything that contradicts it, otherwise from "
        "the poll that saw it"
    ),
)

DATASET = Dataset(
    name="names",
    title="Names and tickers of companies",
    summary=(
        "Names and tickers of companies and when they could be known, one row per statement. The view shows the newest "
        "statement of each company and kind. Only this dataset has a company's name as of an instant."
    ),
    availability=(
        "A name from EDGAR is public at the end, in New York, of the day of the first filing that the company itself "
        "made under that name and that EDGAR published on acceptance. It is never public before a poll that did not "
        "contain the name. Filings that were withheld, such as drafts, or made by others, such as Schedule 13G or Form "
        "4, prove no name. A name from a filing's SGML header is public at the end of the header's day, and a name "
        "from dei facts together with its filing. Tickers that EDGAR or the graph lists without a date are public when "
        "they were fetched or observed. A name ends with the next statement; no statement announces its own end."
    ),
    columns=(
        Column(
            "cik",
            "string",
            "Central Index Key of the company, 10 digits, zero-padded.",
            required=True,
            pattern="[0-9]{10}",
            strict=True,
        ),
        Column("kind", "string", "company_name or ticker.", required=True, values=KINDS, strict=True),
        Column("name", "string", "The first of `all_names`; null if the statement has none."),
        Column(
            "all_names",
            "strings",
            "Every name of that kind in the statement, such as the tickers of several share classes.",
            required=True,
        ),
        Column("since", "date", "First day of the name, if the statement has it."),
        Column("accession_no", "string", "Filing that contains the statement, if any."),
        Column(
            "source",
            "string",
            ("edgar_name (present and former names), edgar_tickers, sgml_header, dei (cover page facts), companies."),
            required=True,
            values=(EDGAR_NAME, EDGAR_TICKERS, HEADER, DEI, GRAPH),
            strict=True,
        ),
        Column("statement", "string", "Id of the statement in its source.", required=True),
    ),
    key=("cik", "kind"),
    identity=("cik", "kind", "source", "statement"),
    tiebreak=("source", "statement"),
    revised_at="available_at",
    entity="cik",
    knowable=dict.fromkeys(("name", "all_names", "since", "source", "statement"), "lake"),
    source_tag="edgar_accepted",
    other_tags=("provider_metadata",),
    gap_rules=(UNDATED_NAME, external.UNPARSABLE, shared.FUTURE),
    group="derived",
)
