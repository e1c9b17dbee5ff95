"""Dataset `qa_exchanges`: exchanges between questioners and management, dated like their call."""

from assets.graph import _calls, texts
from pitlake.datasets.qa_exchanges import DATASET
from pitlake.errors import Unreadable


def sequence(value: object) -> int:
    """Return the exchange's position in the call, from 0. Raises Unreadable when it is missing."""
    place = texts.whole(value)
    if place is None or place < 0:
        raise Unreadable("no place in the call")
    return place


EXTRACTOR = _calls.part_extractor(
    DATASET,
    relation="HAS_QA_EXCHANGE",
    label="QAExchange",
    fields="""p.sequence AS sequence, p.questioner AS questioner, p.questioner_title AS questioner_title,
       p.responders AS responders, p.responder_title AS responder_title, p.exchanges AS exchanges""",
    parsers={
        "sequence": sequence,
        "questioner": texts.word,
        "questioner_title": texts.word,
        "responders": texts.word,
        "responder_title": texts.word,
        "exchanges": texts.json_array,
    },
)
