"""Contract of dataset `research_notes`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _drops as drops
from pitlake.datasets import _shared as shared

FORMATS = ("pdf", "html", "markdown")
NO_TEXT = GapRule("no text", "the file shows no text: a scan, or an empty page", type="no_data")
LOCKED = GapRule("the file is encrypted", "a PDF needs a password to be read", type="upstream_error")
UNREADABLE = GapRule("the file can't be read", "a file's content does not match its suffix", type="upstream_error")

DATASET = Dataset(
    name="research_notes",
    title="Research notes",
    summary=(
        "Notes of brokers and of the trading desk, dropped as PDF, HTML or Markdown files. One row per text revision "
        "of a note."
    ),
    availability=drops.RECEIVED,
    columns=(
        Column(
            "note",
            "string",
            "Name of the file, with its folders: new content under the same name is a revision.",
            required=True,
        ),
        Column("publisher", "string", "First folder into which it was dropped; null if there was none."),
        Column("format", "string", "Kind of the file.", required=True, values=FORMATS, strict=True),
        Column("title", "string", "Title given in the file; otherwise its first line."),
        Column("text", "string", "The text, one line per block, without pictures.", required=True),
        Column("pages", "int", "Pages of a PDF.", minimum=1),
    ),
    key=("note",),
    entity="note",
    knowable={"note": "asked", "publisher": "asked", "format": "record"},
    source_tag="provider_metadata",
    gap_rules=(NO_TEXT, LOCKED, UNREADABLE, shared.FUTURE),
    group="drops",
)
