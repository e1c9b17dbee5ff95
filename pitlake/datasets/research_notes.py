"""Contract of dataset `research_notes`."""

from pitlake.contract import Column, Dataset, GapRule
from pitlake.datasets import _drops as drops
from pitlake.datasets import _shared as shared

FORMATS = ("pdf", "html", "markdown")
NO_TEXT = GapRule(type="no_data", reason="no text", when="the file shows no text: a scan, or an empty page")
LOCKED = GapRule(type="upstream_error", reason="the file is encrypted", when="a PDF needs a password to be read")
UNREADABLE = GapRule(
    type="upstream_error", reason="the file can't be read", when="a file's content does not match its suffix"
)

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
            name="note",
            type="string",
            required=True,
            meaning="Name of the file, with its folders: new content under the same name is a revision.",
        ),
        Column(
            name="publisher", type="string", meaning="First folder into which it was dropped; null if there was none."
        ),
        Column(name="format", type="string", required=True, values=FORMATS, strict=True, meaning="Kind of the file."),
        Column(name="title", type="string", meaning="Title as the file states it; otherwise its first line."),
        Column(name="text", type="string", required=True, meaning="The text, one line per block, without pictures."),
        Column(name="pages", type="int", minimum=1, meaning="Pages of a PDF."),
    ),
    key=("note",),
    entity="note",
    knowable={"note": "asked", "publisher": "asked", "format": "record"},
    source_tag="provider_metadata",
    gap_rules=(NO_TEXT, LOCKED, UNREADABLE, shared.FUTURE),
    group="drops",
    partitioned=False,
)
