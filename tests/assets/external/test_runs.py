"""A feed's run as a whole: no record lost under faults, no secret stored, and every run reparsed from its captures."""

import json
import logging
import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, quote_plus

import dagster as dg
import pytest

from assets.extraction import Place, dated
from assets.feeds.factory import FeedConfig, feed_asset, source_of
from assets.feeds.feed import Feed, Scope, Unit
from assets.feeds.reparse import reparse
from assets.feeds.runs import run_feed
from pitlake import cli, clock
from pitlake.errors import BadInput, NotCaptured, Unparsable
from pitlake.lake.publishing.audit import CheckResult
from resources.http.capture import CaptureStore, Request
from resources.http.client import HttpClient
from resources.http.provider import Provider
from resources.lake import LakeResource
from tests.every import every
from tests.loopback import Answer, Loopback
from tests.toys import NOTES, UNDATED, stored

KEY = "plånted/key+with&odd=\"signs'"
TOY = Provider(name="toy", base_url="https://toy.example", rate=(1000, 1.0), secrets={"apikey": ("TOY_API_KEY",)})
NOTE = {"id": "a", "at": "2024-03-10T12:00:00Z", "said": "{}"}
UNDATABLE = {"id": "b", "at": "", "said": "{}"}
PAGED = Scope(tickers=("one", "two"))


def records(unit, captures):
    for capture in captures:
        answer = capture.json()
        if not isinstance(answer, dict) or not isinstance(answer.get("notes"), list):
            raise Unparsable(capture.evidence, "notes has an unknown format")
        yield from ((record, capture) for record in answer["notes"])


def locate(record, run):
    evidence = f"{run.evidence}&item={record['id']}"
    return dated(evidence, clock.instant(record["at"])) if record["at"] else Place(evidence, reason=UNDATED.reason)


FEED = Feed(
    dataset=replace(NOTES, partitioned=False, group="external", source_tag="provider_metadata"),
    provider=TOY,
    example=Scope(),
    units=lambda scope: [Unit(name, scope) for name in scope.tickers],
    collect=lambda unit, fetch: (fetch(Request(f"/{unit.name}", {"page": page})) for page in (1, 2)),
    records=records,
    locate=locate,
    values=lambda record: {"id": record["id"], "said": record["said"]},
)


@pytest.fixture(scope="module")
def server():
    server = Loopback()
    yield server
    server.close()


@pytest.fixture
def loopback(server, monkeypatch, tmp_path):
    server.reset()
    monkeypatch.setenv("PITLAKE_TOY_URL", server.url)
    monkeypatch.setenv("TOY_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    for path, note in (("/one", NOTE), ("/two", UNDATABLE)):
        server.plays(path, Answer({"notes": [note]}))
    return server


@pytest.fixture
def run(lake):
    def once(mode="live", run_id="run", feed=FEED, scope=PAGED, **settings):
        with HttpClient(feed.provider, CaptureStore.of(lake.root), mode, pause=lambda _: None) as client:
            return run_feed(feed, scope, client, lake, run_id=run_id, **settings)

    return once


def balanced(report):
    total = report.outcome.total
    return total.extracted == total.published + total.unchanged + sum(report.gaps.values())


def test_every_record_is_a_row_or_a_gap(loopback, run, lake):
    report = run()
    assert (report.outcome.total.extracted, balanced(report)) == (4, True)
    assert [row["id"] for row in stored(lake)] == ["a"]
    assert report.gaps == {("unverifiable", "undated"): 2}


def test_cited_captures_are_synced_to_disk_before_rows_are_published(loopback, run, lake, monkeypatch):
    forced, kept_runs, sync, publish = set(), set(), os.fsync, lake.publish

    def noted(handle):
        forced.add(Path(f"/proc/self/fd/{handle}").readlink())
        sync(handle)

    def published(*args):
        root = CaptureStore.of(lake.root).root
        for part in ("bodies", "answers", "runs"):
            kept_runs.update(path for path in (root / part).rglob("*") if path.is_file())
        assert kept_runs <= forced
        return publish(*args)

    monkeypatch.setattr(os, "fsync", noted)
    monkeypatch.setattr(lake, "publish", published)
    assert run().outcome.total.published == 1
    assert len(kept_runs) == 2 + 4 + 1  # bodies, responses, and the run's scope


FAULTS = {
    "refused": (Answer(b"", 403), ("upstream_error", "HTTP 403")),
    "gone": (Answer(b"", 404), ("no_data", "HTTP 404")),
    "unavailable": (Answer(b"", 503), ("upstream_error", "HTTP 503")),
    "dropped": (Answer(fault="drop"), ("upstream_error", "no answer: the connection broke or was refused")),
    "truncated": (Answer(b'{"notes": ['), ("upstream_error", "the answer is not JSON")),
    "renamed": (Answer({"news": []}), ("upstream_error", "the answer is unreadable")),
    "retyped": (Answer({"notes": {}}), ("upstream_error", "the answer is unreadable")),
    "empty": (Answer({"notes": []}), ("no_data", "the answer is valid and empty")),
}


@pytest.mark.parametrize(("fault", "gap"), FAULTS.values(), ids=FAULTS)
def test_a_fault_ends_its_own_unit_with_a_single_gap(loopback, run, fault, gap):
    loopback.plays("/two", fault)
    report = run()
    assert (report.gaps, balanced(report)) == ({gap: 1}, True)
    assert report.outcome.total.published == 1


def test_records_read_before_a_fault_are_not_lost(loopback, run):
    loopback.plays("/two", Answer({"notes": [UNDATABLE]}), Answer(b"", 403))
    assert run().gaps == {("unverifiable", "undated"): 1, ("upstream_error", "HTTP 403"): 1}


def test_a_record_that_is_not_public_yet_is_a_gap(loopback, run, lake):
    loopback.plays("/two", Answer({"notes": [NOTE | {"id": "c", "at": "2200-01-01T00:00:00Z"}]}))
    assert run().gaps == {("pit_excluded", "not public yet"): 2}
    assert every(row["available_at"].year < 2100 for row in stored(lake, "gaps/notes"))


def test_a_replay_publishes_nothing_new_and_sends_no_request(loopback, run, lake):
    run()
    version = lake.head()
    loopback.asked.clear()
    report = run("replay", "again")
    assert (lake.head(), loopback.asked, report.outcome.total.unchanged) == (version, [], 2)


def test_a_changed_answer_is_a_revision_available_when_observed(loopback, run, lake):
    run()
    before = clock.now()
    loopback.plays("/one", Answer({"notes": [NOTE | {"said": "[]"}]}))
    run("refresh", "later")
    first, second = sorted(stored(lake), key=lambda row: row["available_at"])
    assert (first["said"], second["said"]) == ("{}", "[]")
    assert second["available_at"] >= before


def test_a_replay_without_captures_is_refused_and_publishes_nothing(loopback, run, lake):
    with pytest.raises(NotCaptured):
        run("replay")
    assert lake.snapshot().files("notes") == ()


def test_a_run_without_its_api_key_publishes_nothing(loopback, run, lake, monkeypatch):
    monkeypatch.delenv("TOY_API_KEY")
    with pytest.raises(BadInput, match="TOY_API_KEY"):
        run()
    assert lake.snapshot().files("notes") == ()


def test_reparsing_a_run_with_the_same_code_finds_no_difference(loopback, run, lake):
    run()
    difference = reparse(FEED, "run", lake, CaptureStore.of(lake.root))
    assert vars(difference) == {"same": 2, "changed": 0, "added": 0, "redated": 0, "gaps": 2, "examples": []}


def test_reparsing_a_run_with_changed_code_shows_the_differences(loopback, run, lake):
    run()
    loud = replace(FEED, values=lambda record: {"id": record["id"], "said": '"loud"'})
    difference = reparse(loud, "run", lake, CaptureStore.of(lake.root))
    assert (difference.same, difference.changed, difference.examples[0]) == (0, 2, 'a said: {} -> "loud"')
    later = replace(FEED, locate=lambda record, run: dated("e", clock.instant("2024-03-11T12:00:00Z")))
    assert reparse(later, "run", lake, CaptureStore.of(lake.root)).redated == 2
    renamed = replace(FEED, values=lambda record: {"id": f"new {record['id']}", "said": "{}"})
    assert reparse(renamed, "run", lake, CaptureStore.of(lake.root)).added == 2


def test_reparsing_a_run_ignores_later_captures(loopback, run, lake):
    run()
    loopback.plays("/one", Answer({"notes": []}))
    run("refresh", "later")
    assert reparse(FEED, "run", lake, CaptureStore.of(lake.root)).same == 2
    assert CaptureStore.of(lake.root).runs() == [("later", "notes"), ("run", "notes")]


def test_reparsing_a_run_without_captures_is_refused(lake):
    with pytest.raises(BadInput, match="nobody"):
        reparse(FEED, "nobody", lake, CaptureStore.of(lake.root))


def test_the_reparse_command_lists_runs_and_refuses_unknown_runs(loopback, run, lake, capfd):
    run()
    assert cli.invoke(["reparse", "--lake", str(lake.root)]) == 0
    assert {"run", "notes"} <= set(capfd.readouterr().out.split())
    assert cli.invoke(["reparse", "--lake", str(lake.root), "--format", "json"]) == 0
    assert json.loads(capfd.readouterr().out) == [{"run": "run", "dataset": "notes"}]
    assert cli.invoke(["reparse", "run", "nothing", "--lake", str(lake.root)]) == 2
    for name, says in (("run", "dataset: is missing; name one of notes"), ("nosuch", "run: 'nosuch' left no captures")):
        capfd.readouterr()
        assert cli.invoke(["reparse", name, "--lake", str(lake.root)]) == 2
        assert says in capfd.readouterr().err


@pytest.mark.parametrize("place", ["query", "header", "bearer"])
def test_no_artefact_of_a_run_holds_the_key_even_when_the_provider_echoes_it(
    loopback, run, lake, tmp_path, monkeypatch, caplog, capfd, place
):
    spelled = KEY if place == "query" else "planted-key-0123456789"
    monkeypatch.setenv("TOY_API_KEY", spelled)
    caplog.set_level(logging.DEBUG)
    feed = replace(FEED, provider=replace(TOY, place=place))
    loopback.plays("/one", Answer({"notes": [NOTE], "echo": [spelled, quote(spelled, safe="")]}))
    loopback.plays("/two", Answer(f"<p>invalid key {spelled}".encode(), 403, {"ETag": quote(spelled)}))
    report = run(feed=feed)
    loopback.plays("/two", Answer(fault="drop"))
    run("refresh", "again", feed=feed)
    output = capfd.readouterr()
    sent = str(loopback.asked)
    assert quote_plus(spelled) in sent or spelled in sent
    spellings = {spelled, quote(spelled, safe=""), quote_plus(spelled)}
    everything = f"{caplog.text}{output.out}{output.err}{report}"
    assert not [spelling for spelling in spellings if spelling in everything]
    encoded = [spelling.encode() for spelling in spellings]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert [path for path in files if any(spelling in path.read_bytes() for spelling in encoded)] == []
    captures = [*CaptureStore.of(lake.root).every()]
    assert every(capture.redacted for capture in captures)


def test_an_api_key_is_read_from_a_dotenv_file(loopback, run, tmp_path, monkeypatch):
    monkeypatch.delenv("TOY_API_KEY")
    (tmp_path / ".env").write_text("TOY_API_KEY=from-the-dotenv-file\n")
    run()
    assert "apikey=from-the-dotenv-file" in loopback.asked[0][1]


@pytest.fixture
def materialise(lake, monkeypatch):
    """A function that materialises feeds with a configuration for the feed `notes`."""
    met = (CheckResult(name="expectations", passed=True), CheckResult(name="expectation_warnings", passed=True))
    monkeypatch.setattr("assets.feeds.factory.expected", lambda _staged, _observed_at: met)  # slow to import

    def run(config, *feeds):
        with dg.DagsterInstance.ephemeral() as instance:
            return dg.materialize(
                [source_of(FEED), *map(feed_asset, feeds)],
                instance=instance,
                resources={"lake": LakeResource(root=str(lake.root))},
                run_config=dg.RunConfig({"notes": config}),
            )

    return run


def test_the_asset_runs_a_scope_as_configured(loopback, lake, materialise):
    assert materialise(FeedConfig(mode="live", tickers=["one"]), FEED).success
    assert [row["id"] for row in stored(lake)] == ["a"]


@pytest.mark.parametrize(("tickers", "level"), [([], "WARNING"), (["one"], "INFO")], ids=["blank", "of another feed"])
def test_a_feed_without_a_configured_scope_logs_that_nothing_is_requested(loopback, materialise, capfd, tickers, level):
    other = replace(FEED, dataset=replace(FEED.dataset, name="other_notes"), example=PAGED)
    result = materialise(FeedConfig(mode="live", tickers=tickers), FEED, other)
    note = (
        "nothing was named in the run's config, so nothing is requested; an example is "
        '{"tickers": ["one", "two"], "max_pages": 10, "mode": "live"}'
    )
    assert f" - {level} - " in next(line for line in capfd.readouterr().err.splitlines() if line.endswith(note))
    assert result.asset_materializations_for_node("other_notes")[0].metadata["requested"].value == note


@pytest.mark.parametrize("wrong", [{"date_from": "soon"}, {"updated_since": "2024-01-01"}])
def test_an_invalid_config_is_refused_and_the_error_names_the_field(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        FeedConfig(**wrong).scope()


def test_a_scope_round_trips_through_json():
    scope = FeedConfig(
        tickers=["a"], date_from="2024-01-01", updated_since="2024-01-01T00:00:00Z", options={"a": "b"}
    ).scope()
    assert Scope.of_json(scope.as_json()) == scope
