"""Short samples of the memory campaigns: truth, kills and races."""

from tests.forge.campaign import compared, killed, raced


def test_the_lake_the_journal_and_a_journal_cut_at_t_agree(tmp_path):
    assert compared(tmp_path, 200) == []


def test_a_writer_that_is_killed_loses_nothing_and_writes_nothing_twice(tmp_path):
    assert killed(tmp_path, 1) == []


def test_only_one_of_two_sessions_writing_the_same_view_wins(tmp_path):
    assert raced(tmp_path, 20) == []
