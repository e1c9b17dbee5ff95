"""Dataset `prepared_remarks`: management's prepared remarks on a call, dated like the call."""

from assets.graph import _calls, texts
from pitlake.datasets.prepared_remarks import DATASET

EXTRACTOR = _calls.part_extractor(
    DATASET,
    relation="HAS_PREPARED_REMARKS",
    label="PreparedRemark",
    fields="p.content AS content",
    parsers={"content": texts.json_array},
)
