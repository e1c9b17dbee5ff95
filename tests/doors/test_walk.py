"""A walk through time: one session that moves from instant to instant."""

import shutil

import pytest

import pitlake
from pitlake.answers import receipts
from pitlake.errors import SessionLost
from pitlake.lake import Lake

DAYS = ("2024-02-15T21:00:00Z", "2024-02-15T21:00:00Z", "2024-03-01T21:00:00Z")


def test_a_walk_uses_a_single_session_and_closes_it_at_the_end(small_lake):
    seen = []
    for session in pitlake.walk(DAYS, lake=small_lake, datasets=["news"]):
        (reply,) = session.sql("SELECT as_of()::VARCHAR, max(available_at) <= as_of() FROM news").rows()
        seen.append((session, *reply))
    assert {id(each) for each, _, _ in seen} == {id(session)}
    assert [at[:10] for _, at, _ in seen] == ["2024-02-15", "2024-02-15", "2024-03-01"]
    with pytest.raises(SessionLost, match="closed"):
        session.sql("SELECT 1")
    walk = pitlake.walk(DAYS, lake=small_lake, datasets=["news"])
    session = next(walk)
    walk.close()
    with pytest.raises(SessionLost, match="closed"):
        session.sql("SELECT 1")


@pytest.mark.parametrize("hindsight", ["show", "omit"])
def test_a_receipt_of_a_walk_is_replayed(small_lake, tmp_path, hindsight):
    lake = Lake(shutil.copytree(small_lake.root, tmp_path / "lake"))
    remaining = [
        session.run("news_latest", ticker="QBG").keep()
        for session in pitlake.walk(DAYS, lake=lake, datasets=["news", "benzinga_news", "names"], hindsight=hindsight)
    ]
    for name in remaining:
        receipt = receipts.find(name, lake.root)
        assert receipts.replay(receipt, lake).receipt == receipt
    assert len(set(remaining)) == 2
