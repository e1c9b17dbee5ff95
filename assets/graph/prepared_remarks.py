"""Dataset `prepared_remarks`: what management read out on a call, dated as the call."""

from assets.graph import _calls, texts
from pitlake.datasets.prepared_remarks import DATASET

EXTRACTOR = _calls.part_extractor(
    DATASET,
    relation="HAS_PREPARED_REMARKS",
    label="PreparedRemark",
    fields="p.content AS content",
    parsers={"content": texts.json_array},
)
