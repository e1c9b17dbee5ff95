"""Captures are stored completely, by content hash and without secrets, and are refused if they were changed."""

import base64
import gzip
import html
import json
import os
import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from urllib.parse import quote

import pytest

from pitlake.errors import BadInput, CaptureDamaged, Unparsable
from resources.http.capture import Request
from resources.http.client import captured
from resources.http.csv_lines import cells
from resources.http.secrets import redact, spelled
from tests.resources.http.conftest import TOY

ASK = Request("/notes", {"q": "a b"})


def capture(content=b'{"a": 1}', **reply):
    return captured(TOY, ASK, content, **reply)


def stored_files(store):
    return store.newest_first("toy", ASK.key("toy"))


def bodies(store):
    return [path for path in (store.root / "bodies").rglob("*") if path.is_file()]


def test_a_stored_capture_is_read_back_unchanged_and_without_cookies(store):
    remaining = store.put(capture(headers={"content-type": "application/json", "set-cookie": "no"}))
    assert [*store.newest_first("toy", ASK.key("toy"))] == [remaining]
    assert remaining.headers == {"content-type": "application/json"}


def test_a_body_is_stored_compressed(store):
    content = json.dumps([{"val": number, "form": "10-K", "filed": "2015-10-28"} for number in range(9_999)]).encode()
    remaining = store.put(capture(content))
    (body,) = bodies(store)
    assert body.name == f"{remaining.sha256}.gz"
    assert gzip.decompress(body.read_bytes()) == content
    assert body.stat().st_size < len(content) / 10


def test_evidence_is_the_address_and_the_hash_of_the_body(store):
    remaining = capture()
    assert remaining.evidence == f"https://toy.example/notes?q=a+b#sha256={remaining.sha256}"


def test_the_same_body_is_stored_once_and_every_answer_is_listed(store):
    first = store.put(capture())
    store.put(replace(first, fetched_at=first.fetched_at.replace(year=2031)))
    store.put(capture(b"other"))
    assert len(bodies(store)) == 2
    assert len([*store.newest_first("toy", ASK.key("toy"))]) == 3


def test_putting_the_same_capture_again_changes_nothing(store):
    remaining = store.put(capture())
    before = {path: path.stat().st_ino for path in bodies(store)}
    store.put(remaining)
    assert {path: path.stat().st_ino for path in bodies(store)} == before
    assert [*store.every()] == [remaining]


@pytest.mark.parametrize(
    "harm",
    [
        lambda path: path.write_bytes(b'{"a": 2}'),
        lambda path: path.write_bytes(gzip.compress(b'{"a": 2}')),
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(path.read_bytes()[:12] + bytes(9)),
        lambda path: path.unlink(),
    ],
)
def test_a_changed_or_missing_body_is_refused_and_fetching_repairs_it(store, harm):
    remaining = store.put(capture())
    harm(bodies(store)[0])
    with pytest.raises(CaptureDamaged):
        [*store.newest_first("toy", ASK.key("toy"))]
    store.put(remaining)
    assert [*store.newest_first("toy", ASK.key("toy"))] == [remaining]


def test_flush_syncs_every_written_file_and_its_folders_to_disk(store, monkeypatch):
    forced = set()
    monkeypatch.setattr(os, "fsync", lambda handle: forced.add(Path(f"/proc/self/fd/{handle}").readlink()))
    store.put(capture())
    store.put(capture(b"other"))
    store.keep_run("r", "notes", {})
    output = {path for path in store.root.rglob("*") if path.is_file()}
    assert (len(output), forced) == (5, set())
    store.flush()
    above = {one for path in output for one in path.parents if one.is_relative_to(store.root)}
    assert forced == output | above
    forced.clear()
    store.flush()
    assert forced == set()


@pytest.mark.parametrize(
    "use", [lambda store, remaining: store.put(remaining), lambda store, remaining: next(stored_files(store))]
)
def test_captures_left_by_a_killed_run_are_synced_to_disk_when_used_again(store, monkeypatch, use):
    forced = set()
    remaining = store.put(capture())
    monkeypatch.setattr(os, "fsync", lambda handle: forced.add(Path(f"/proc/self/fd/{handle}").readlink()))
    later = type(store)(store.root)
    use(later, remaining)
    later.flush()
    assert {path for path in store.root.rglob("*") if path.is_file()} <= forced


def test_a_folder_created_concurrently_by_another_run_is_used(store, monkeypatch):
    session, seen = os.open, []

    def overtaken(path, *more, **inputs):
        if not seen:
            seen.append(path)
            Path(path).parent.mkdir(parents=True)
            raise FileNotFoundError(path)
        return session(path, *more, **inputs)

    monkeypatch.setattr(os, "open", overtaken)
    remaining = store.put(capture())
    assert [*store.every()] == [remaining]
    assert seen


def test_a_half_written_file_is_ignored_by_readers(store):
    remaining = store.put(capture())
    folder = next((store.root / "answers").rglob("*.json")).parent
    for name in (".scratch", ".scratch.json"):
        (folder / name).write_text("{")
    assert [*store.newest_first("toy", ASK.key("toy"))] == [*store.every()] == [remaining]


@pytest.mark.parametrize("body", [b"", b"{", b"<html>", b"\xff\xfe", b"[" * 100_000])
def test_invalid_json_is_refused_and_the_error_names_its_evidence(body):
    with pytest.raises(Unparsable, match="sha256"):
        capture(body).json()


def test_text_is_decoded_by_its_charset():
    assert capture("é".encode("latin-1"), headers={"content-type": "text/plain; charset=latin-1"}).text() == "é"
    assert capture(b"\xef\xbb\xbfx", headers={"content-type": "text/plain; charset=nonsense"}).text() == "x"


def test_an_answer_file_holds_no_body(store):
    store.put(capture())
    facts = json.loads(next((store.root / "answers").rglob("*.json")).read_text())
    assert "body" not in facts


SECRET = "planted/key+with&odd=\"signs'é"
ECHOES = {
    "as it is": lambda key: key,
    "quoted": lambda key: quote(key, safe=""),
    "quoted, slashes left": quote,
    "quoted in lower case": lambda key: re.sub(
        "%..", lambda stored_files: stored_files[0].lower(), quote(key, safe="")
    ),
    "JSON": lambda key: json.dumps({"said": key}),
    "JSON in UTF-8": lambda key: json.dumps({"said": key}, ensure_ascii=False),
    "JSON with escaped slashes": lambda key: json.dumps({"said": key}).replace("/", "\\/"),
    "HTML": html.escape,
    "base64": lambda key: base64.b64encode(key.encode()).decode(),
}


@pytest.mark.parametrize("echo", ECHOES.values(), ids=ECHOES)
def test_a_key_is_redacted_in_every_encoding(echo):
    remaining, count = redact(f"<p>{echo(SECRET)}</p>".encode(), spelled({"apikey": SECRET}))
    assert (count, remaining.count(b"[redacted apikey]")) == (1, 1)
    assert remaining.replace(b"[redacted apikey]", b"").replace(b"=", b"") == f"<p>{echo('')}</p>".encode()


@pytest.mark.parametrize("order", list(permutations(["public part", "the whole", "the end"])), ids=", ".join)
def test_of_nested_secrets_the_longest_is_redacted_first_in_any_order(order):
    secrets = {"public part": "abcd-efgh", "the whole": "abcd-efgh-ijkl-mnop", "the end": "ijkl-mnop"}
    spellings = {}
    for name in order:
        spellings |= spelled({name: secrets[name]})
    assert redact(b"<abcd-efgh-ijkl-mnop> <abcd-efgh>", spellings) == (
        b"<[redacted the whole]> <[redacted public part]>",
        2,
    )


def test_redacted_secrets_are_counted_in_headers_and_body():
    spellings = {b"s3cret": "TOY_API_KEY"}
    headers = {"content-type": "text/s3cret"}
    remaining = captured(TOY, ASK, b"s3cret and s3cret", headers=headers, spellings=spellings)
    assert remaining.redacted == 3
    assert "s3cret" not in str(remaining)


@pytest.mark.parametrize("harm", [lambda path: path.write_text("{"), lambda path: path.unlink()])
def test_a_run_whose_file_is_missing_or_damaged_is_refused(store, harm):
    store.keep_run("r1", "notes", {"days": ["2024-03-05"]})
    assert store.run("r1", "notes") == {"days": ["2024-03-05"]}
    harm(store.root / "runs/r1/notes.json")
    with pytest.raises(BadInput, match="no captures of run 'r1' of notes"):
        store.run("r1", "notes")


@pytest.mark.parametrize("content", [b'a,b\n1,"2\n3,4\n', b'a,b\n1,"2\r"\n', b'a,b\n"1"x"2,3\n' + b"x" * 140_000])
def test_broken_csv_lines_are_refused_after_the_lines_before_them_are_returned(content):
    lines_of_cells = cells(capture(content))
    assert next(lines_of_cells) == ["a", "b"]
    with pytest.raises(Unparsable):
        list(lines_of_cells)


def test_a_lone_surrogate_in_an_answer_is_replaced():
    reply = capture(rb'{"\ud83d": ["cut \ud83d", "\ud83d\ude00", "\\ud83d", 1]}').json()
    assert reply == {"\ufffd": ["cut \ufffd", "\U0001f600", r"\ud83d", 1]}
