"""Kept receipts give the same bytes again after any change to the lake, or an error that says what is missing."""

import json
import os
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pytest

import pitlake
from pitlake.answers import receipts
from pitlake.clock import iso
from pitlake.errors import (
    BadInput,
    LakeNotFound,
    LimitExceeded,
    QueryFailed,
    ReceiptDamaged,
    ReplayDiffers,
    ReplayImpossible,
    VersionVacuumed,
)
from pitlake.lake import Lake
from pitlake.session import Limits
from tests.doors.conftest import AS_OF, news, publish

SQL = "SELECT id, title FROM news WHERE available_at >= $since::TIMESTAMPTZ ORDER BY id"
NOW = timedelta(0)


@pytest.fixture
def own_lake(small_lake, tmp_path):
    return Lake(shutil.copytree(small_lake.root, tmp_path / "lake"), allow_drift="revised")


def ask(lake, sql=SQL, params=None, as_of=AS_OF, **more):
    with pitlake.connect(as_of, lake=lake, **more) as session:
        return session.sql(sql, params if params is not None or sql != SQL else {"since": "2024-04-01T00:00:00Z"})


def revise(lake, run_id="revision"):
    """Publish articles that an earlier poll did not find."""
    late = [row | {name: f"{row[name]}00" for name in ("id", "evidence")} for row in news()]
    for row in late:
        row["created"] = row["available_at"] = row["created"] + timedelta(hours=2)
    publish(lake, "news", late, run_id)


def test_a_kept_receipt_gives_the_same_bytes_after_the_lake_moved_on(own_lake):
    result = ask(own_lake)
    name = result.keep(own_lake)
    revise(own_lake)
    assert ask(own_lake).arrow() != result.arrow()
    assert receipts.replay(receipts.find(name, own_lake.root), own_lake).arrow() == result.arrow()


@pytest.mark.parametrize("after", [timedelta(microseconds=1), timedelta(milliseconds=1), timedelta(seconds=1)], ids=str)
def test_a_replay_is_as_of_the_receipts_exact_instant(own_lake, after):
    [[newest]] = ask(own_lake, "SELECT max(available_at) FROM news").rows()
    receipt = ask(own_lake, "SELECT max(available_at), as_of() FROM news", as_of=newest - after).receipt
    assert receipt.as_of == iso(newest - after)
    assert receipts.replay(receipt, own_lake).receipt == receipt
    at = ask(own_lake, "SELECT max(available_at), as_of() FROM news", as_of=newest)
    assert receipts.replay(at.receipt, own_lake).rows() == [(newest, newest)]


def test_a_receipt_is_found_by_id_prefix_file_or_the_hash_of_its_answer(own_lake):
    result, other = ask(own_lake), ask(own_lake, "SELECT 1")
    name = result.keep(own_lake)
    root = own_lake.root
    file = next((root / "_lake" / "receipts").glob("*.json"))
    assert receipts.survey(root)[0] == {name: result.receipt}
    assert receipts.find(name[:6], root) == receipts.find(str(file), root) == result.receipt
    other.keep(own_lake)
    assert receipts.find(result.receipt.result_sha256, root) == result.receipt
    assert receipts.find(other.receipt.result_sha256, root) == other.receipt
    with pytest.raises(BadInput, match="no stored receipt has the answer"):
        receipts.find("0" * 64, root)


def test_an_answer_hash_shared_by_receipts_finds_that_of_the_newest_version(own_lake):
    early = ask(own_lake, "SELECT 1 AS one")
    revise(own_lake)
    late = ask(own_lake, "SELECT 1 AS one")
    for result in (late, early):
        result.keep(own_lake)
    assert early.receipt.result_sha256 == late.receipt.result_sha256
    assert receipts.find(early.receipt.result_sha256, own_lake.root) == late.receipt != early.receipt


def test_an_ambiguous_id_prefix_is_refused_and_the_error_names_the_matches(own_lake):
    name = ask(own_lake).keep(own_lake)
    folder = own_lake.root / "_lake" / "receipts"
    twin = name[:-1] + ("0" if name[-1] != "0" else "1")
    (folder / f"{twin}.json").write_bytes((folder / f"{name}.json").read_bytes())
    with pytest.raises(BadInput, match=f"{min(name, twin)}, {max(name, twin)}"):
        receipts.find(name[:8], own_lake.root)
    assert receipts.find(name, own_lake.root) == ask(own_lake).receipt


def test_receipts_are_dated_to_the_microsecond_and_listed_newest_first(own_lake):
    names = [ask(own_lake, f"SELECT {number} AS n").keep(own_lake) for number in range(3)]
    folder = own_lake.root / "_lake" / "receipts"
    (folder / "readme.txt").write_text("not a receipt")
    when = [datetime(2024, 6, day, 12, 0, 0, 250_000, tzinfo=timezone.utc) for day in (2, 3, 1)]
    for name, at in zip(names, when, strict=True):
        os.utime(folder / f"{name}.json", (at.timestamp(), at.timestamp()))
    expected = {names[1]: when[1], names[0]: when[0], names[2]: when[2]}
    assert list(receipts.kept_at(own_lake.root).items()) == list(expected.items())


def test_keeping_a_receipt_twice_keeps_it_once(own_lake):
    assert ask(own_lake).keep(own_lake) == ask(own_lake).keep(own_lake)
    assert len(receipts.survey(own_lake.root)[0]) == 1


@pytest.mark.parametrize("reference", ["", "ab", "0123456789", "/nowhere/receipt.json"])
def test_a_reference_to_no_receipt_is_refused(own_lake, reference):
    ask(own_lake).keep(own_lake)
    with pytest.raises(BadInput, match="RECEIPT"):
        receipts.find(reference, own_lake.root)


def test_a_vacuum_leaves_what_a_kept_receipt_needs(own_lake):
    name = ask(own_lake).keep(own_lake)
    revise(own_lake)
    own_lake.compact("news", before="2030-01")
    own_lake.vacuum(NOW, grace=NOW, dry_run=False)
    receipts.replay(receipts.find(name, own_lake.root), own_lake)


def test_a_replay_of_a_vacuumed_version_names_the_missing_dataset(own_lake):
    receipt = ask(own_lake).receipt
    revise(own_lake)
    own_lake.compact("news", before="2030-01")
    own_lake.vacuum(NOW, grace=NOW, dry_run=False)
    with pytest.raises(VersionVacuumed, match="news"):
        receipts.replay(receipt, own_lake)


def test_a_receipt_whose_version_is_gone_is_not_kept(own_lake):
    result = ask(own_lake)
    revise(own_lake)
    own_lake.compact("news", before="2030-01")
    own_lake.vacuum(NOW, grace=NOW, dry_run=False)
    with pytest.raises(VersionVacuumed):
        result.keep(own_lake)
    assert receipts.survey(own_lake.root)[0] == {}


def test_a_receipt_of_a_version_the_lake_never_had_is_not_kept(own_lake, tmp_path):
    other = Lake(tmp_path / "other")
    other.start()
    with pytest.raises(LakeNotFound):
        ask(own_lake).keep(other)


def test_a_receipt_can_be_forgotten_by_a_copy_of_its_file(own_lake, tmp_path):
    result = ask(own_lake)
    name, copy = result.keep(own_lake), tmp_path / "copy.json"
    copy.write_bytes(result.receipt.to_json())
    assert receipts.forget(str(copy), own_lake.root) == name
    assert receipts.survey(own_lake.root)[0] == {}


@pytest.mark.parametrize(
    ("sql", "params"),
    [("load nothing_of_this_name", None), ("INSERT INTO mine VALUES (?)", ["x" * 60])],
    ids=["load of another kind", "parameters as long as a hash"],
)
def test_statements_that_only_look_like_loaded_rows_are_replayed(own_lake, sql, params):
    with pitlake.connect(AS_OF, lake=own_lake) as session:
        session.sql("CREATE TABLE mine (a VARCHAR)")
        with suppress(QueryFailed):
            session.sql(sql, params)
        result = session.sql("FROM mine")
    assert [len(step.parameters) for step in result.receipt.question.prelude][1:] in ([64], [4])
    assert receipts.replay(result.receipt, own_lake).arrow() == result.arrow()


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        ({"engine": "duckdb 0", "threads": 2}, "duckdb 0 answered it, and this installation has duckdb"),
        ({"threads": 2}, "answered with 2 threads"),
        ({}, "this is a different lake"),
    ],
)
def test_a_replay_that_differs_names_a_possible_reason(own_lake, then, reason):
    receipt = ask(own_lake).receipt
    reply = replace(receipt, result_sha256="0" * 64, question=replace(receipt.question, **then))
    with pytest.raises(ReplayDiffers, match=reason):
        receipts.replay(reply, own_lake)


@pytest.mark.parametrize(
    "damage",
    [
        lambda reply: reply.pop("rows"),
        lambda reply: reply["question"].update(sql="SELECT 1"),
        lambda reply: reply["question"].update(more=1),
        lambda reply: reply.update(question=None),
    ],
    ids=["a field gone", "other SQL", "a field more", "no question"],
)
def test_a_receipt_that_was_changed_is_refused(own_lake, damage):
    ask(own_lake).keep(own_lake)
    file = next((own_lake.root / "_lake" / "receipts").glob("*.json"))
    document = json.loads(file.read_text())
    damage(document)
    for place in (file, own_lake.root / "sent.json"):  # if a file's name contains no hash, its content is checked
        place.write_text(json.dumps(document))
        with pytest.raises(ReceiptDamaged):
            receipts.find(str(place))


def test_replaying_a_receipt_of_an_unknown_dataset_names_the_dataset(lake):
    receipt = ask(lake).receipt
    strange = replace(receipt, question=replace(receipt.question, datasets=("sunspots",)))
    with pytest.raises(ReplayImpossible, match="sunspots"):
        receipts.replay(strange, lake)


def test_a_replay_repeats_the_sessions_earlier_statements(lake):
    with pitlake.connect(AS_OF, lake=lake) as session:
        session.sql("CREATE TEMP TABLE mine AS SELECT id FROM news WHERE id < 'bzNews_2'")
        with pytest.raises(pitlake.PitlakeError):
            session.sql("INSERT INTO mine SELECT no_such_column FROM news")
        result = session.sql("SELECT count(*) AS n FROM mine")
    assert receipts.replay(result.receipt, lake).arrow() == result.arrow()


def test_a_replay_requires_the_same_rows_the_session_loaded(lake):
    mine = pa.table({"id": ["bzNews_2", "bzNews_4"]})
    with pitlake.connect(AS_OF, lake=lake) as session:
        session.load("mine", mine)
        result = session.sql("SELECT title FROM news JOIN mine USING (id) ORDER BY id")
    with pytest.raises(ReplayImpossible, match="'mine'"):
        receipts.replay(result.receipt, lake)
    with pytest.raises(ReplayImpossible, match="differ from those"):
        receipts.replay(result.receipt, lake, loaded={"mine": mine.slice(1)})
    assert receipts.replay(result.receipt, lake, loaded={"mine": mine}).arrow() == result.arrow()


def test_an_open_mode_question_replays_in_open_mode(lake):
    result = ask(lake, "SELECT count(*) AS n FROM event_returns", as_of=None, open_mode=True)
    assert receipts.replay(result.receipt, lake).arrow() == result.arrow()


def test_a_truncated_answer_replays_truncated(lake):
    with pitlake.connect(AS_OF, lake=lake) as session:
        result = session.sql("SELECT id FROM news ORDER BY id", max_rows=3)
    assert receipts.replay(result.receipt, lake).truncated


@pytest.mark.parametrize(
    "damage",
    [
        lambda reply: reply["question"].update(as_of="2020-01-01T00:00:00Z"),
        lambda reply: reply["question"].update(version=0),
        lambda reply: reply["question"].update(parameters="null"),
        lambda reply: reply.update(truncated=True),
    ],
    ids=["as of", "version", "parameters", "truncated"],
)
def test_an_edited_kept_receipt_is_refused_and_stops_a_vacuum(own_lake, damage):
    name = ask(own_lake).keep(own_lake)
    file = next((own_lake.root / "_lake" / "receipts").glob("*.json"))
    document = json.loads(file.read_text())
    damage(document)
    file.write_text(json.dumps(document))
    for reference in (name, str(file)):
        with pytest.raises(ReceiptDamaged, match="changed after it was written"):
            receipts.find(reference, own_lake.root)
    with pytest.raises(ReceiptDamaged, match="changed after it was written"):
        own_lake.vacuum(NOW, grace=NOW, dry_run=False)


@pytest.mark.parametrize(
    "damage",
    [
        lambda reply: reply["question"].update(version="21"),
        lambda reply: reply["question"].update(version=True),
        lambda reply: reply["question"].update(max_rows="5"),
        lambda reply: reply["question"].update(sql=5),
        lambda reply: reply["question"].update(as_of=5),
        lambda reply: reply["question"].update(datasets="news"),
        lambda reply: reply["question"].update(datasets=[["news"]]),
        lambda reply: reply["question"].update(datasets=["news", 5]),
        lambda reply: reply["question"].update(seconds="60"),
        lambda reply: reply["question"].update(prelude=[{"sql": "SELECT 1", "parameters": 5}]),
        lambda reply: reply["question"].update(prelude=5),
        lambda reply: reply["question"].update(sql="\ud800"),
        lambda reply: reply.update(rows="1"),
        lambda reply: reply.pop("question"),
    ],
)
def test_a_receipt_with_a_missing_or_mistyped_field_is_refused(own_lake, tmp_path, damage):
    document = json.loads(ask(own_lake).receipt.to_json())
    damage(document)
    file = tmp_path / "copy.json"
    file.write_text(json.dumps(document))
    with pytest.raises(ReceiptDamaged, match="copy"):
        receipts.find(str(file))


@pytest.mark.parametrize(
    "parameters",
    ["x", "5", '{"$":"zzz","v":1}', '{"$":"date","v":5}', '{"$":"decimal","v":"x"}', '[{"v":1}]', "[" * 9999],
)
def test_a_receipt_with_unreadable_parameters_is_refused_as_damaged(lake, parameters):
    receipt = ask(lake).receipt
    with pytest.raises(ReceiptDamaged, match="parameters"):
        receipts.replay(replace(receipt, question=replace(receipt.question, parameters=parameters)), lake)


def test_a_damaged_receipt_hides_no_others_and_can_be_forgotten(own_lake):
    good = ask(own_lake, "SELECT 1").keep(own_lake)
    bad = "0" * 16
    (own_lake.root / "_lake" / "receipts" / f"{bad}.json").write_text('{"as_of": 5}')
    sound, result = receipts.survey(own_lake.root)
    assert (list(sound), len(result), bad in str(result[0])) == ([good], 1, True)
    receipts.forget(bad, own_lake.root)
    assert list(receipts.survey(own_lake.root)[0]) == [good]


def test_a_receipt_without_limits_is_still_valid(own_lake, tmp_path):
    reply = ask(own_lake).receipt
    older = reply.to_dict()
    for name in ("most_rows", "most_bytes", "seconds", "memory"):
        older["question"].pop(name)
    file = tmp_path / "older.json"
    file.write_text(json.dumps(older))
    assert receipts.find(str(file)) == reply


def test_an_answer_cut_by_the_session_s_own_limits_replays(lake):
    with pitlake.connect(AS_OF, lake=lake, limits=Limits(rows=10)) as session:
        result = session.sql("SELECT id FROM news ORDER BY id", max_rows=100)
    assert (len(result), result.truncated) == (10, True)
    assert receipts.replay(result.receipt, lake).arrow() == result.arrow()


def test_an_answer_after_a_statement_that_exceeded_a_limit_replays(lake):
    with pitlake.connect(AS_OF, lake=lake, limits=Limits(rows=10)) as session:
        session.sql("CREATE TEMP TABLE mine AS FROM range(50)")
        with pytest.raises(LimitExceeded):
            session.sql("FROM mine")
        session.sql("FROM mine", max_rows=5)
        result = session.sql("SELECT count(*) AS n FROM mine")
    assert receipts.replay(result.receipt, lake).arrow() == result.arrow()


def test_an_answer_under_raised_limits_replays(lake):
    raised = Limits(rows=11_000_000, bytes=2 << 30, seconds=600, memory=9 << 30)
    result = ask(lake, "SELECT 1::TINYINT FROM range(10_000_001)", limits=raised)
    with receipts._reopen(result.receipt.question, lake, "process", None) as session:
        assert session.limits == raised
    assert len(receipts.replay(result.receipt, lake)) == 10_000_001


def test_a_replay_has_no_less_time_and_memory_than_usual(lake):
    question = ask(lake, "SELECT 1", limits=Limits(seconds=5, memory=1 << 30, rows=5)).receipt.question
    with receipts._reopen(question, lake, "process", None) as session:
        assert session.limits == Limits(rows=5)


def test_statements_of_another_thread_are_replayed_in_the_order_they_ran(lake):
    with pitlake.connect(AS_OF, lake=lake) as session:
        slow = threading.Thread(
            target=session.sql,
            args=["CREATE TABLE t AS SELECT count(*) AS n FROM range(200000000) a(i) WHERE i % 3 = 1"],
        )
        slow.start()
        while not session._backend._running:
            time.sleep(0.001)
        result = session.sql("SELECT n FROM t")
        slow.join()
    assert receipts.replay(result.receipt, lake).arrow() == result.arrow()


def test_a_receipt_is_stored_in_the_lake_of_its_session(own_lake, tmp_path, monkeypatch):
    monkeypatch.setenv("PITLAKE_LAKE", str(tmp_path / "elsewhere"))
    assert list(receipts.survey(own_lake.root)[0]) == [] != [ask(own_lake).keep()]
    assert len(receipts.survey(own_lake.root)[0]) == 1
