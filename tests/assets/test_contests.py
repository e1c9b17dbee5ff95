"""Contests: one winner per group, repeats distinct from losers, nulls treated as equal, and independence of order."""

from itertools import permutations

import pyarrow as pa

from assets.contests import CONTENDER, RANK, SECOND_RANK, contested_rows, settle


def row(contender, rank, key, text, second=0):
    return {"key": key, "text": text, "evidence": contender, CONTENDER: contender, RANK: rank, SECOND_RANK: second}


def settled(rows):
    return settle(list(enumerate(rows)), ("key",), ("key",))


def test_the_higher_rank_wins_in_any_order():
    for rows in permutations([row("a", 1, "k", "x"), row("b", 2, "k", "y"), row("c", 0, "k", "z")]):
        losers = {rows[index]["evidence"] for index in settled(rows).losers}
        assert losers == {"a", "c"}


def test_the_second_rank_then_the_greater_id_breaks_ties():
    assert settled([row("a", 1, "k", "x", second=2), row("b", 1, "k", "y", second=1)]).losers == [1]
    assert settled([row("a", 1, "k", "x"), row("b", 1, "k", "y")]).losers == [0]


def test_a_loser_with_the_same_content_is_a_repeat_of_the_winner():
    assert settled([row("a", 1, "k", "same"), row("b", 2, "k", "same")]) == ([], {0: 1})


def test_all_rows_of_the_winner_win_and_rows_that_only_a_loser_has_lose():
    rows = [row("a", 2, "1", "x"), row("a", 2, "2", "y"), row("b", 1, "1", "x"), row("b", 1, "3", "z")]
    for item in rows:
        item["call"] = "c"
    assert settle(list(enumerate(rows)), ("call",), ("key",)) == ([3], {2: 0})


def test_only_groups_with_several_contenders_are_contested():
    table = pa.table({"key": [None, None, "a", "b", "b"], CONTENDER: ["x", "y", "x", "y", "y"]})
    assert contested_rows(table, ["key"]) == [0, 1]
