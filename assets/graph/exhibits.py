"""Dataset `exhibits`: EX-10 and EX-99 exhibits of filings, dated by their filing's release."""

from assets.graph import _filings, texts
from pitlake.datasets.exhibits import DATASET

EXTRACTOR = _filings.content_extractor(
    DATASET,
    relation="HAS_EXHIBIT",
    label="ExhibitContent",
    fields="s.exhibit_number AS exhibit_number, s.content AS content",
    parsers={"exhibit_number": texts.word, "content": texts.text},
    name="exhibit_number",
)
