"""known_by: the lake's state at an instant, in every interface. Receipts state it, and no call widens it."""

import io
import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from mcp import StdioServerParameters

from pitlake import notebook
from pitlake.answers import receipts
from pitlake.cli import invoke
from pitlake.clock import MICROSECOND, iso
from pitlake.errors import BadInput, BadInstant, LakeNotFound, VersionVacuumed
from pitlake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.storage.log import not_kept
from pitlake.mcp.server import server
from pitlake.session import connect
from tests.doors.conftest import AS_OF, news, publish
from tests.doors.mcp_client import ROOT, service, stdio, talk

MADE = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
STEP = timedelta(hours=7)
QUESTIONS = (
    "FROM news ORDER BY ALL",
    "FROM news_revisions ORDER BY ALL",
    "FROM dividends_revisions ORDER BY ALL",
    "FROM gaps ORDER BY ALL",
    "FROM lake_info ORDER BY ALL",
)
READ = ("news", "dividends", "prices")
COUNT = "SELECT count(*) AS articles FROM news"


class Grown:
    """A lake, and a copy of it after each commit, by commit time."""

    def __init__(self, folder, seed: int, commits: int = 6) -> None:
        self.random = random.Random(seed)
        self.lake, self.stopped, now = Lake(folder / "lake", allow_drift="revised"), {}, MADE
        for number in range(commits):
            now += STEP * self.random.random()
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("pitlake.clock.now", lambda now=now: now)
                self._commit(number)
            shutil.copytree(self.lake.root, folder / f"stopped {number}")
            self.stopped[self.lake.entry().committed_at] = Lake(folder / f"stopped {number}", allow_drift="revised")
        self.made = min(entry.committed_at for entry in self.lake.versions())

    def _commit(self, number: int) -> None:
        if number and not self.random.randrange(4):
            self.lake.compact("news", before="2030-01")
            return
        chosen = [row for row in news() if self.random.random() < 0.3]
        edited = [row | {"title": f"told {self.random.randrange(3)}"} for row in chosen]
        lost = StagedGap(
            "unverifiable", "created is missing or unreadable", f"neo4j:News:lost_{number}", chosen[0]["created"]
        )
        publish(self.lake, "news", edited, f"run-{number}", (lost,))

    def asks(self, count: int) -> Iterator[tuple[datetime, datetime, Lake]]:
        """Yield random instants T and K, and the copy of the lake as of K."""
        times = sorted(self.stopped)
        for _ in range(count):
            as_of = MADE - timedelta(days=self.random.randrange(600, 900)) if self.random.random() < 0.7 else times[-1]
            edge = self.random.choice(times) + self.random.choice((-1, 0, 1)) * MICROSECOND
            known_by = edge if self.random.random() < 0.6 else MADE + 6 * STEP * self.random.random()
            before = [each for each in times if each <= known_by]
            if before:
                yield as_of, known_by, self.stopped[before[-1]]


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> Grown:
    return Grown(tmp_path_factory.mktemp("grown"), seed=12)


@pytest.fixture(scope="module")
def middle(grown) -> datetime:
    return sorted(grown.stopped)[2]


def answers_of(lake, as_of, **how):
    with connect(as_of, lake=lake, datasets=READ, **how) as session:
        return [session.sql(question).arrow() for question in QUESTIONS]


@pytest.mark.parametrize("seed", range(2))
def test_an_answer_known_by_k_equals_that_of_a_lake_that_stopped_at_k(tmp_path, seed):
    grown = Grown(tmp_path, seed)
    answers = 0
    for as_of, known_by, stopped in grown.asks(8):
        result = answers_of(grown.lake, as_of, known_by=known_by)
        assert result == answers_of(stopped, as_of), (as_of, known_by)
        answers += any(table.num_rows for table in result[:2])
    assert answers >= 4


def test_by_default_the_newest_version_answers(grown):
    newest = max(grown.stopped)
    assert answers_of(grown.lake, AS_OF) == answers_of(grown.lake, AS_OF, known_by=newest)
    assert answers_of(grown.lake, AS_OF) != answers_of(grown.lake, AS_OF, known_by=min(grown.stopped))


def test_open_mode_accepts_known_by(grown, middle):
    result = answers_of(grown.lake, None, open_mode=True, known_by=middle)
    assert result == answers_of(grown.stopped[middle], None, open_mode=True)


@pytest.mark.parametrize(
    ("known_by", "error", "complaint"),
    [
        (datetime(2026, 3, 5), BadInstant, "known_by: the datetime has no time zone"),  # noqa: DTZ001
        ("2026-03-05T12:00:00", BadInstant, "known_by: the offset is missing; give an ISO-8601 instant"),
        ("2026-03-05", BadInstant, "known_by: a date without time"),
        ("yesterday", BadInstant, "known_by: expected YYYY-MM-DD"),
        ("", BadInstant, "known_by: no timestamp text"),
        (5, BadInstant, "known_by: "),
        ("9999-01-01T00:00:00Z", BadInput, "known_by: is in the future; give a time up to now"),
        ("1999-01-01T00:00:00Z", BadInput, "known_by: this lake has no state of that time; give a later"),
    ],
)
def test_an_invalid_future_or_too_early_known_by_is_refused(grown, known_by, error, complaint):
    with pytest.raises(error, match=complaint):
        connect(AS_OF, lake=grown.lake, known_by=known_by)


def test_known_by_and_version_exclude_each_other(grown, middle):
    with pytest.raises(BadInput, match="known_by: given together with version; give one of them"):
        connect(AS_OF, lake=grown.lake, known_by=middle, version=1)


def test_known_by_at_a_missing_lake_raises_lake_not_found(tmp_path):
    with pytest.raises(LakeNotFound, match="no lake at"):
        connect(AS_OF, lake=tmp_path / "nowhere", known_by=MADE)


def test_a_vacuumed_state_is_refused_with_the_same_error_as_a_state_never_stored(tmp_path):
    lake = Grown(tmp_path, seed=1, commits=3).lake
    first = lake.entry(1).committed_at
    lake.compact("news", before="2030-01")
    lake.vacuum(timedelta(0), grace=timedelta(0), dry_run=False)
    refusals = []
    for moment in (first, first - timedelta(days=400)):
        with pytest.raises(BadInput) as refused:
            connect(AS_OF, lake=lake, known_by=moment)
        refusals.append(str(refused.value))
    assert refusals[0] == refusals[1] == str(not_kept())
    with pytest.raises(VersionVacuumed, match=r"version 1 was vacuumed .*; ask a newer one"):
        connect(AS_OF, lake=lake, version=1)


def test_a_receipt_records_known_by_and_replays_the_same_rows(tmp_path):
    grown = Grown(tmp_path, seed=2)
    middle = sorted(grown.stopped)[1]
    with connect(AS_OF, lake=grown.lake, known_by=middle) as session:
        assert f"known_by={iso(middle)}" in repr(session)
        result = session.sql(COUNT)
    name = result.keep()
    remaining = receipts.find(name, grown.lake.root)
    assert remaining == result.receipt
    assert (remaining.known_by, remaining.version) == (iso(middle), grown.lake.version_at(middle))
    publish(grown.lake, "news", ({**row, "title": "later"} for row in news()), "later")
    again = receipts.replay(remaining, grown.lake)
    assert again.arrow() == result.arrow()
    assert again.receipt == remaining


def test_a_receipt_without_a_known_by_field_is_still_valid(grown, tmp_path):
    with connect(AS_OF, lake=grown.lake) as session:
        receipt = session.sql(COUNT).receipt
    stored_fields = receipt.to_dict()
    del stored_fields["question"]["known_by"]
    (tmp_path / "old.json").write_text(json.dumps(stored_fields))
    assert receipts.find(str(tmp_path / "old.json")) == receipt


@pytest.fixture
def pitlake(grown, capfdbinary, monkeypatch):
    """A function that runs a command line in this process and returns exit code, stdout and stderr."""
    monkeypatch.setenv("PITLAKE_LAKE", str(grown.lake.root))

    def run(*line):
        code = invoke(line)
        output = capfdbinary.readouterr()
        return code, output.out.decode(), output.err.decode()

    return run


ASKING = (
    ("query", COUNT),
    ("run", "news_latest", "--ticker", "QBG"),
    ("search", "guidance", "--ticker", "QBG"),
    ("gaps", "--each"),
)


@pytest.mark.parametrize("line", ASKING, ids=lambda line: line[0])
def test_every_query_command_accepts_known_by(grown, middle, pitlake, line):
    question = ("--as-of", AS_OF, "--format", "json")
    code, out, err = pitlake(*line, *question, "--known-by", iso(middle))
    assert code == 0, err
    assert out == pitlake(*line, *question, "--version", str(grown.lake.version_at(middle)))[1]
    assert out != pitlake(*line, *question)[1]
    assert line[0] == "gaps" or f"known by {iso(middle)}" in err


def test_the_shell_accepts_known_by(grown, middle, pitlake, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{COUNT};\n"))
    code, out, _ = pitlake("shell", "--as-of", AS_OF, "--known-by", iso(middle), "--isolation", "in_process")
    count = answers_of(grown.stopped[middle], AS_OF)[0].num_rows
    assert (code, str(count) in out) == (0, True)


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--known-by", "2026-03-05"), "--known-by: a date without time"),
        (("--known-by", "2026-03-05T12:00:00"), "--known-by: the offset is missing"),
        (("--known-by", "9999-01-01T00:00:00Z"), "known_by: is in the future"),
        (("--known-by", "1999-01-01T00:00:00Z"), "known_by: this lake has no state of that time"),
        (("--known-by", "2026-03-05T12:00:00Z", "--version", "1"), "--known-by: given together with --version"),
    ],
)
@pytest.mark.parametrize("command", [("query", COUNT), ("mcp",)], ids=["query", "mcp"])
def test_the_command_line_refuses_a_bad_known_by_in_one_line(pitlake, command, more, complaint):
    code, out, err = pitlake(*command, "--as-of", AS_OF, *more)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"pitlake: {complaint}")


def test_receipts_are_listed_with_their_known_by(grown, middle, pitlake):
    receipt = pitlake("query", COUNT, "--as-of", AS_OF, "--known-by", iso(middle), "--receipt")[2].split()[-1]
    assert iso(middle) in pitlake("receipts")[1]
    (remaining,) = [each for each in json.loads(pitlake("receipts", "--format", "json")[1]) if each["id"] == receipt]
    assert remaining["question"]["known_by"] == iso(middle)
    assert pitlake("replay", receipt)[0] == 0
    pitlake("receipts", "--forget", receipt)


def test_the_notebook_magic_accepts_known_by(grown, middle):
    magic = notebook.AsOf(InteractiveShell().user_ns)
    where = f"{AS_OF} --lake {str(grown.lake.root)!r} --isolation in_process"
    try:
        then = magic.ask(f"{where} --known-by {iso(middle)}", COUNT)["articles"].item()
        now = magic.ask(where, COUNT)["articles"].item()
    finally:
        magic.close()
    assert (then, now) == tuple(
        each[0].num_rows for each in (answers_of(grown.stopped[middle], AS_OF), answers_of(grown.lake, AS_OF))
    )


TOOLS = (
    ("query", {"sql": "SELECT count(*) AS n FROM news"}),
    ("run_query", {"name": "news_latest", "params": {"ticker": "QBG"}}),
    ("search", {"query": "guidance", "ticker": "QBG"}),
    ("gaps", {}),
)


def contents(results):
    assert not any(result.is_error for result in results), [result.content for result in results]
    return [result.structured_content for result in results]


def test_every_mcp_tool_answers_as_known_by_an_earlier_instant(grown, middle):
    serving = server(service(grown.lake.root))
    then = contents(talk(serving, *((name, how | {"known_by": iso(middle)}) for name, how in TOOLS)))
    stopped = contents(talk(server(service(grown.stopped[middle].root)), *TOOLS))
    assert [each["receipt"].pop("known_by") for each in then] == [iso(middle)] * len(TOOLS)
    assert [each["receipt"].pop("known_by") for each in stopped] == [None] * len(TOOLS)
    assert then == stopped
    assert then != contents(talk(serving, *TOOLS))


def test_a_cursor_continues_only_under_the_same_known_by(grown, middle):
    serving, rows = server(service(grown.lake.root)), {"sql": "SELECT id FROM news ORDER BY id", "max_rows": 3}
    (first,) = contents(talk(serving, ("query", rows | {"known_by": iso(middle)})))
    further = rows | {"cursor": first["next_cursor"]}
    rest, other = talk(serving, ("query", further | {"known_by": iso(middle)}), ("query", further))
    assert rest.structured_content["receipt"] == first["receipt"]
    assert "belongs to another question" in other.content[0].text


def test_a_server_started_with_known_by_refuses_a_later_known_by(grown, middle):
    (started,) = contents(talk(stdio(grown.lake.root, "--known-by", iso(middle)), TOOLS[1]))
    (stopped,) = contents(talk(server(service(grown.stopped[middle].root)), TOOLS[1]))
    assert (started["data"], started["receipt"]["known_by"]) == (stopped["data"], iso(middle))
    serving = server(service(grown.lake.root, known_by=middle))
    for later in (middle + MICROSECOND, max(grown.stopped), MADE + timedelta(days=100)):
        for name, how in TOOLS:
            (result,) = talk(serving, (name, how | {"known_by": iso(later)}))
            assert result.is_error
            assert result.content[0].text == (
                f"known_by: later than the known by this server was started with; give {iso(middle)} or less"
            )
    earlier = min(grown.stopped)
    assert not talk(serving, ("query", TOOLS[0][1] | {"known_by": iso(earlier)}))[0].is_error


def test_the_agents_server_is_bound_by_known_by_in_its_environment(grown, middle):
    bound = {"PITLAKE_LAKE": str(grown.lake.root), "PITLAKE_AS_OF": AS_OF, "PITLAKE_KNOWN_BY": iso(middle)}
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    started = StdioServerParameters(command="sh", args=[str(ROOT / ".claude/lake-server")], env=bound | path)
    later = TOOLS[1][1] | {"known_by": iso(max(grown.stopped))}
    answers_of, wider = talk(started, TOOLS[1], (TOOLS[1][0], later))
    (stopped,) = contents(talk(server(service(grown.stopped[middle].root)), TOOLS[1]))
    assert answers_of.structured_content["data"] == stopped["data"]
    assert wider.is_error


def test_a_server_pinned_to_a_version_refuses_known_by(grown, middle):
    (result,) = talk(server(service(grown.lake.root, version=1)), ("query", TOOLS[0][1] | {"known_by": iso(middle)}))
    assert result.is_error
    assert result.content[0].text == "known_by: this server answers only from one version of the lake; leave it out"
