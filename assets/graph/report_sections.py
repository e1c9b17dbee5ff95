"""Dataset `report_sections`: the named items of filings, dated by their filing's release."""

from assets.graph import _filings, texts
from pitlake.datasets.report_sections import DATASET

EXTRACTOR = _filings.content_extractor(
    DATASET,
    relation="HAS_SECTION",
    label="ExtractedSectionContent",
    fields="s.section_name AS section_name, s.content AS content, s.content_length AS content_length",
    parsers={"section_name": texts.word, "content": texts.text, "content_length": texts.whole},
    name="section_name",
)
