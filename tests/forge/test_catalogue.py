"""A lake with foreign datasets is queried and replayed with its own catalogue."""

import pytest

from forge.datasets import MEMORY, contracts, views
from forge.memory import WriteCall
from pitlake import connect
from pitlake.answers import receipts
from pitlake.errors import BadInput, ReplayImpossible
from pitlake.session import Catalogue


def test_a_foreign_dataset_is_queried_and_replayed_only_with_its_catalogue(memory):
    ours = Catalogue(contracts(), views())
    for number in range(2):
        call = WriteCall(actor="agent", session="s", call_id=str(number))
        memory.journal.append("/session/s/a.md", f"text {number}", call)
    memory.flush()
    with connect(memory.lake.now(), lake=memory.lake, catalogue=ours) as session:
        answer = session.sql(f"SELECT path, content FROM {MEMORY}")
    assert answer.rows() == [("/session/s/a.md", "text 1")]
    assert receipts.replay(answer.receipt, memory.lake, catalogue=ours).rows() == answer.rows()
    with pytest.raises(ReplayImpossible, match=MEMORY):
        receipts.replay(answer.receipt, memory.lake)
    with pytest.raises(BadInput, match="there is no dataset"):
        connect(memory.lake.now(), lake=memory.lake, datasets=[MEMORY])
