"""Samples of the long campaigns: truth of memory, kills, races."""

from tests.forge.campaign import compared, killed, raced


def test_lake_journal_and_a_journal_cut_at_t_remember_the_same(tmp_path):
    assert compared(tmp_path, 200) == []


def test_a_writer_that_is_killed_loses_nothing_and_writes_nothing_twice(tmp_path):
    assert killed(tmp_path, 1) == []


def test_of_two_sessions_that_write_one_view_one_wins(tmp_path):
    assert raced(tmp_path, 20) == []
