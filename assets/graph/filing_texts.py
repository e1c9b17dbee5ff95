"""Dataset `filing_texts`: the whole text of filings without parsed sections, dated by the filing's release."""

from assets.graph import _filings, texts
from pitlake.datasets.filing_texts import DATASET

EXTRACTOR = _filings.content_extractor(
    DATASET,
    relation="HAS_FILING_TEXT",
    label="FilingTextContent",
    fields="s.content AS content",
    parsers={"content": texts.text},
)
