"""Polls: every run stores one, even if nothing changed. Many polls are merged, and they are read up to an instant."""

import random
from datetime import date, timedelta

import pytest

from pitlake import clock
from pitlake.errors import LakeError
from pitlake.lake.publishing import polls
from pitlake.lake.publishing.polls import FOREVER, MOST_FILES, NEVER, Coverage, Poll, Polls, read_all, spans
from pitlake.lake.storage.root import open_store
from tests.lake.world import BY_COLUMN, WHEN_OBSERVED, Toy, publish, rows, utc

NOON = utc("2024-03-05T12:00:00-05:00")
A = Toy("a", "x", NOON)


@pytest.fixture
def store(lake):
    return open_store(lake.root)


def at(day):
    return NOON + timedelta(days=day)


def poll(day, run="run", **what):
    return Poll(clock.micros(at(day)), run, **what)


def test_days_are_kept_as_spans():
    days = ["2024-03-01", "2024-02-29", "2024-03-03", "2024-03-02", "2024-03-07"]
    assert spans(days) == (("2024-02-29", "2024-03-03"), ("2024-03-07", "2024-03-07"))


def test_a_run_that_finds_all_unchanged_leaves_a_poll_and_no_version(lake, store):
    publish(lake, [A], at(1))
    before = lake.head()
    publish(lake, [A], at(2))
    assert lake.head() == before
    assert [each.observed for each in read_all(store, "toys")] == [clock.micros(at(2)), clock.micros(at(1))]
    assert read_all(store, "toys")[0].days == (("2024-03-05", "2024-03-05"),)


def test_last_returns_the_newest_poll_of_a_day_and_entity_up_to_the_instant(store):
    polls.write(store, "toys", poll(1))
    polls.write(store, "toys", poll(2, days=(("2024-03-01", "2024-03-03"),)))
    polls.write(store, "toys", poll(3, entities=frozenset({"AAPL"})))
    polls.write(store, "toys", poll(9))
    result = Polls(store, "toys", at(4))
    assert result.last() == poll(3).observed
    assert result.last(day="2024-03-03", entity="QBAR") == poll(2).observed
    assert result.last(day="2024-03-04", entity="QBAR") == poll(1).observed
    assert Polls(store, "other", at(4)).last() == NEVER


@pytest.mark.parametrize(
    ("finds", "found_nothing"),
    [((), False), ((True,), True), ((False,), False), ((False, True), True), ((None,), False), ((None, False), False)],
)
def test_found_nothing_is_true_once_a_complete_poll_was_empty(store, finds, found_nothing):
    """finds: for each poll, whether the completely read parts were empty; None if no part was read completely."""
    for day, is_empty in enumerate(finds):
        coverage = (Coverage(frozenset({"a"})),) if is_empty is not None else ()
        polls.write(store, "toys", poll(day, coverage=coverage, is_empty=is_empty is not False))
    assert Polls(store, "toys", at(9)).found_nothing == found_nothing


def test_a_run_s_own_poll_does_not_count(store):
    polls.write(store, "toys", poll(1))
    assert Polls(store, "toys", at(1), exclude_run="run").last() == NEVER
    other = Polls(store, "toys", at(1), exclude_run="another")
    assert other.last() == Polls(store, "toys", at(2), exclude_run="run").last() > NEVER


def test_many_polls_are_merged_into_few_files_without_loss(store):
    reply = [poll(day, entities=frozenset({"AAPL", str(day % 2)})) for day in range(3 * MOST_FILES)]
    for item in reply:
        polls.write(store, "toys", item)
        assert len(list(store.walk(f"{polls.POLLS}/toys"))) <= MOST_FILES
    assert read_all(store, "toys") == reply[::-1]


def test_a_fold_that_was_cut_short_is_repeated_and_loses_nothing(store, monkeypatch):
    reply = [poll(day) for day in range(MOST_FILES + 1)]
    with monkeypatch.context() as patched:
        patched.setattr(type(store), "delete", lambda _store, *_keys: None)
        for item in reply:
            polls.write(store, "toys", item)
    polls.write(store, "toys", reply[0])
    assert read_all(store, "toys") == reply[::-1]
    assert len(list(store.walk(f"{polls.POLLS}/toys"))) == 1


def day_of(number):
    return f"2024-03-{number:02}"


def some_poll(rng):
    days = None if rng.random() < 0.1 else spans(day_of(rng.randrange(1, 9)) for _ in range(rng.randrange(3)))
    entities = None if rng.random() < 0.7 else frozenset(rng.sample("ABC", 2))
    return poll(rng.randrange(20), run=f"run-{rng.randrange(2)}", days=days, entities=entities)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 9))])
def test_merged_poll_files_answer_like_the_full_list_of_polls(store, monkeypatch, seed):
    rng = random.Random(seed)
    monkeypatch.setattr(polls, "MOST_FILES", 3)
    monkeypatch.setattr(polls, "MOST_POLLS", 4)
    reply = [some_poll(rng) for _ in range(40)]
    for item in reply:
        polls.write(store, "toys", item)
    assert set(read_all(store, "toys")) == set(reply)
    for instant in (at(-1), at(4), at(9.5), at(19)):
        result = Polls(store, "toys", instant, exclude_run="run-0")
        others = [each for each in reply if (each.observed, each.run_id) != (clock.micros(instant), "run-0")]
        for day in (None, *map(day_of, range(10))):
            for entity in (None, "A", "D"):
                seen = [each.observed for each in others if each.saw(day, entity)]
                last = max((each for each in seen if each <= clock.micros(instant)), default=NEVER)
                after = min((each for each in seen if each > clock.micros(instant)), default=FOREVER)
                assert (result.last(day, entity), result.next(day, entity)) == (last, after)
        assert result.newest == (max(each.observed for each in reply) <= clock.micros(instant))


def test_only_the_poll_files_that_an_answer_needs_are_read(store, monkeypatch):
    monkeypatch.setattr(polls, "MOST_FILES", 3)
    monkeypatch.setattr(polls, "MOST_POLLS", 4)
    for number in range(48):
        day = day_of(1 + number // 8)
        polls.write(store, "toys", poll(number, days=((day, day),)))
    files, read, real = list(store.walk(polls.POLLS)), [], store.read
    monkeypatch.setattr(type(store), "read", lambda _store, key: read.append(key) or real(key))
    result = Polls(store, "toys", at(48))
    assert result.newest
    assert result.last(day=day_of(3)) == poll(23).observed
    assert len(read) == 2 < 12 <= len(files), "the newest, and the one of that day"
    read.clear()
    for number in range(48, 52):
        polls.write(store, "toys", poll(number))
    assert 0 < len(read) < 12, "full files are left alone"


def test_polls_merged_while_a_reader_is_open_are_still_found(store):
    polls.write(store, "toys", poll(0))
    result = Polls(store, "toys", at(90))
    assert result.last(day=day_of(1)) == poll(0).observed
    for day in range(1, MOST_FILES + 2):
        polls.write(store, "toys", poll(day, days=((day_of(1), day_of(1)),)))
    fresh = Polls(store, "toys", at(90))
    assert fresh.last(day=day_of(2)) == poll(0).observed
    for day in range(MOST_FILES + 2, 2 * MOST_FILES + 4):
        polls.write(store, "toys", poll(day, days=((day_of(1), day_of(1)),)))
    assert fresh.last(day=day_of(1)) == poll(2 * MOST_FILES + 3).observed


def test_a_poll_file_with_altered_bytes_is_an_error(store):
    polls.write(store, "toys", poll(1))
    [file] = store.walk(f"{polls.POLLS}/toys")
    path = store.path(file.key)
    path.write_bytes(path.read_bytes().replace(b'"run"', b'"ran"'))
    with pytest.raises(LakeError, match="polls is damaged"):
        read_all(store, "toys")


def test_a_renamed_poll_file_is_an_error(store):
    polls.write(store, "toys", Poll(clock.micros(at(1)), "run-1"))
    (file,) = store.walk(polls.POLLS)
    path = store.path(file.key)
    path.rename(path.with_name(path.name.rpartition("_")[2]))
    with pytest.raises(LakeError, match="is not named as polls are; restore its name"):
        read_all(store, "toys")


def test_publishing_over_a_damaged_poll_fails_instead_of_dating_rows_earlier(lake, store):
    publish(lake, [A], at(1))
    [file] = store.walk(f"{polls.POLLS}/toys")
    store.path(file.key).write_bytes(b"{}")
    with pytest.raises(LakeError, match="polls is damaged"):
        publish(lake, [A._replace(text="y", revised=at(1.5))], at(2), dataset=BY_COLUMN)


def test_the_poll_of_an_unpartitioned_run_lists_its_days_and_entities(lake, store):
    with lake.stage("companies", "run") as stage:
        stage.poll((date(2024, 3, 1), date(2024, 3, 4)), ["0000320193"])
        stage.poll(entities=["0009800014"])
        lake.publish(stage, at(1))
    [item] = read_all(store, "companies")
    assert (item.days, item.entities) == ((("2024-03-01", "2024-03-04"),), frozenset({"0000320193", "0009800014"}))


@pytest.mark.parametrize("dataset", [WHEN_OBSERVED, BY_COLUMN], ids=["observed", "column"])
def test_a_stored_row_counts_as_an_observation_even_if_its_poll_is_lost(lake, store, dataset):
    moved = Toy("a", "y", NOON, at(1))
    publish(lake, [A._replace(revised=NOON)], at(2), dataset=dataset)
    for file in list(store.walk(polls.POLLS)):
        store.delete(file.key)
    publish(lake, [moved], at(4), dataset=dataset)
    dates = {row.text: row.available_at for row in rows(lake)}
    assert dates["x"] == NOON
    assert dates["y"] > at(2), "what a poll saw otherwise was not there yet"
