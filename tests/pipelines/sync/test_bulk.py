"""`pitlake sync --all` on small bulk files of EDGAR: loaded once, again, after changes, and after a kill."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timezone
from unittest.mock import Mock

import pyarrow as pa
import pytest

from assets.feeds.feed import Whole
from pipelines.sync import bulk, bulk_worker, upkeep
from pipelines.sync.bulk import BulkSync
from pipelines.sync.progress import Progress
from pipelines.sync.upkeep import Upkeep
from pitlake.errors import VersionVacuumed
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap
from pitlake.lake.storage.bulk_loads import BulkLoad
from pitlake.session import connect
from resources.http.archives import keep, read
from resources.http.capture import CaptureStore
from tests.cli.conftest import ROOT
from tests.pipelines.sync import damaged
from tests.pipelines.sync.edgar import made

FACTS, SUBMISSIONS = "companyfacts.zip", "submissions.zip"
CONTENT = """
    SELECT cik, concept, unit, period_end, accession_no, value, available_at, release_rule
    FROM sec_facts_revisions ORDER BY ALL"""


def zipped(folder, companies):
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / FACTS, "w") as facts, zipfile.ZipFile(folder / SUBMISSIONS, "w") as submissions:
        for company in companies:
            facts.writestr(f"CIK{company.padded}.json", json.dumps(company.company_facts()))
            for name, page in company.submissions().items():
                submissions.writestr(name, json.dumps(page))
    return folder


def rows(lake, question):
    with connect(None, open_mode=True, lake=lake, isolation="in_process") as session:
        return session.sql(question).rows()


@pytest.fixture
def archives(tmp_path):
    return zipped(tmp_path / "bulk", made(3))


def test_a_bulk_load_equals_single_answers_and_a_second_load_changes_nothing(sync, edgar, lake, archives, monkeypatch):
    sync("--tickers", "TKA,TKB,BRK.B")
    single = rows(lake, CONTENT)
    monkeypatch.setenv("PITLAKE_LAKE", str(archives / "lake"))
    done = sync("--all", "--from", f"{archives / FACTS},{archives / SUBMISSIONS}")
    assert done.code == 0, done.err
    assert edgar.asked == []
    loaded = type(lake)(archives / "lake")
    assert rows(loaded, CONTENT) == single
    names = "SELECT cik, name FROM names WHERE kind = 'ticker' ORDER BY ALL"
    assert rows(loaded, names) == rows(lake, names)
    version = loaded.head()
    again = sync()
    assert again.code == 0, again.err
    assert "companyfacts.zip: unchanged" in again.err
    assert loaded.head() == version


def test_only_the_changed_companies_of_an_archive_are_loaded(lake, archives):
    message: list[str] = []

    def load():
        BulkSync(lake, Progress(message.append), None).run([archives / FACTS, archives / SUBMISSIONS])

    load()
    companies = made(3)
    companies[1].reports(2018, 1)
    zipped(archives, companies)
    message.clear()
    load()
    assert "companyfacts.zip: 1 company in 1 batch" in message
    assert rows(lake, "SELECT count(*), count(DISTINCT accession_no) FROM sec_facts_revisions") == [(75, 25)]


def test_a_task_does_not_carry_the_earlier_statements_of_its_batch(lake, archives, monkeypatch):
    load = BulkSync(lake, Progress(lambda _: None), None).run
    load([archives / FACTS, archives / SUBMISSIONS])
    tasks, submit = [], ProcessPoolExecutor.submit

    def noted(pool, work, task):
        tasks.append((task, len(pickle.dumps(task))))
        return submit(pool, work, task)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", noted)
    companies = made(3)
    for company in companies:
        company.reports(2018, 1)
    newer = zipped(archives / "newer", companies)
    load([newer / FACTS, newer / SUBMISSIONS])
    (filings,) = [(task, size) for task, size in tasks if task.statements is not None]
    assert filings[1] < 2_000
    assert not filings[0].statements.exists()
    assert rows(lake, "SELECT count(*), count(DISTINCT accession_no) FROM sec_filings_revisions") == [(27, 27)]


@pytest.mark.parametrize(
    ("since", "without", "change", "first", "last"),
    [
        (None, (), {}, None, "2017-10-09"),
        (date(2017, 3, 1), (), {}, "2017-03-01", "2017-10-09"),
        (None, ("submissions-001",), {}, None, None),
        (None, (), {"acceptanceDateTime": "?"}, None, "2017-10-09"),
    ],
    ids=["all", "since a day", "without an older page", "an acceptance is unreadable"],
)
def test_a_companys_members_cover_its_filings_before_the_newest(lake, tmp_path, since, without, change, first, last):
    company = replace(made(1)[0], filings=[], older=1)
    for quarter in (1, 2, 3):
        company.reports(2017, quarter)
    company.filings[1] |= change
    whole, part = zipped(tmp_path / "bulk", [company]) / SUBMISSIONS, tmp_path / SUBMISSIONS
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(part, "w") as target:
        for name in source.namelist():
            if not any(word in name for word in without):
                target.writestr(name, source.read(name))
    archive = keep(CaptureStore.of(lake.location), part)
    observed_at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    task = bulk_worker.Task(
        archive=archive, companies=[company.padded], since=since, observed_at=observed_at, as_accepted=False
    )
    covered = {part.dataset: part.covered for part in bulk_worker.filings(task)}
    proven = [Whole(company.padded, (("filing_date", first, last),))] if last else []
    assert covered == {"sec_filings": proven, "universe_events": []}


def test_an_archive_is_opened_once_for_all_companies(lake, archives, monkeypatch):
    archive = keep(CaptureStore.of(lake.location), archives / FACTS)
    names = [member.name for member in archive.members()]
    session, opener = [], zipfile.ZipFile
    monkeypatch.setattr(zipfile, "ZipFile", lambda path: session.append(path) or opener(path))
    assert [read(archive, name).status for name in names] == [200, 200, 200]
    assert session == [archive.path]


def test_the_draft_of_a_killed_load_is_removed_a_day_later(lake, archives):
    store = CaptureStore.of(lake.location)
    folder = store.root / "bulk" / "companyfacts"
    folder.mkdir(parents=True)
    for name, age in (("killed", 90_000), ("running", 60)):
        (folder / f".{name}.tmp").write_bytes(b"PK")
        os.utime(folder / f".{name}.tmp", (time.time() - age,) * 2)
    keep(store, archives / FACTS)
    assert [path.name for path in folder.glob(".*")] == [".running.tmp"]


@pytest.mark.parametrize("rows_at_once", [1, 3, 100])
def test_a_workers_rows_and_gaps_survive_pickling_to_the_publishing_process(monkeypatch, rows_at_once):
    monkeypatch.setattr(bulk_worker, "ROWS_AT_ONCE", rows_at_once)
    result, parts = (
        bulk_worker.Made("sec_facts"),
        [pa.table({"text": pa.array(["a"] * count, pa.string())}) for count in (2, 0, 5, 1)],
    )
    for part in parts:
        result.add(None, part, [StagedGap("no_data", "no text", "x")], extracted=part.num_rows + 1)
    packed = pickle.loads(pickle.dumps(result.packed()))
    assert pa.concat_tables(packed.tables()).equals(pa.concat_tables(parts))
    assert (packed.dataset, len(packed.gaps), packed.extracted) == ("sec_facts", 4, 12)
    assert list(bulk_worker.Made("sec_facts").packed().tables()) == []


def test_malformed_facts_become_gaps_and_the_others_are_loaded(lake, archives):
    companies = made(2)
    item, *_ = companies[0].facts["Concept0"]
    companies[0].facts["Concept0"] += [item | {"val": 7}]
    companies[0].facts["Concept1"][0]["val"] = "many"
    companies[0].facts["Concept2"][0]["accn"] = "0000000000-00-000000"
    zipped(archives, companies)
    BulkSync(lake, Progress(lambda _: None), None).run([archives / FACTS, archives / SUBMISSIONS])
    gaps = "SELECT reason, count(*) FROM gaps WHERE dataset = 'sec_facts' GROUP BY ALL ORDER BY ALL"
    assert rows(lake, gaps) == [
        ("acceptance of the filing is unknown", 1),
        ("stated twice by one filing", 1),
        ("value is unreadable", 1),
    ]
    assert rows(lake, "SELECT count(*) FROM sec_facts") == [(46,)]


def test_a_load_that_is_killed_goes_on_with_the_batch_it_was_at(lake, archives, tmp_path, monkeypatch):
    script = f"""
from pathlib import Path
from pipelines.sync import bulk
from pipelines.sync.progress import Progress
from pitlake.lake.lake import Lake
bulk.BATCH_BYTES = 1
if __name__ == "__main__":
    paths = [Path({str(archives / FACTS)!r}), Path({str(archives / SUBMISSIONS)!r})]
    bulk.BulkSync(Lake({str(lake.root)!r}), Progress(print), None).run(paths)
"""
    (tmp_path / "load.py").write_text(script)
    with subprocess.Popen(
        [sys.executable, tmp_path / "load.py"], env=os.environ | {"PYTHONPATH": str(ROOT)}
    ) as running:
        deadline = time.monotonic() + 240
        while (lake.bulk_load("sec_facts") is None) and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGKILL)
    monkeypatch.setattr(bulk, "BATCH_BYTES", 1)
    message: list[str] = []
    BulkSync(lake, Progress(message.append), None).run([archives / FACTS, archives / SUBMISSIONS])
    assert "submissions.zip: unchanged" in message
    assert not any("companyfacts.zip: batch 1 of" in line for line in message)
    assert rows(lake, "SELECT count(*), count(DISTINCT accession_no) FROM sec_facts_revisions") == [(72, 24)]


def test_after_a_load_only_its_intermediate_versions_are_vacuumed(lake, archives, monkeypatch):
    paths = [archives / FACTS, archives / SUBMISSIONS]
    monkeypatch.setattr(upkeep, "FEW_FILES", 0)
    BulkSync(lake, Progress(print), None).run(paths)
    first, before = lake.head(), rows(lake, CONTENT)
    zipped(archives, made(4))
    BulkSync(lake, Progress(print), None).run(paths)
    assert len(rows(lake, CONTENT)) > len(before)
    with connect(None, open_mode=True, lake=lake, isolation="in_process", version=first) as session:
        assert session.sql(CONTENT).rows() == before
    for version in (first - 1, lake.head() - 1):
        with pytest.raises(VersionVacuumed):
            lake.snapshot(version)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ("nowhere.zip,submissions.zip", "there is no file"),
        ("companyfacts.zip", "submissions.zip is missing"),
        ("load.txt,submissions.zip", "is not one of EDGAR's bulk files"),
        ("pipe.zip,submissions.zip", "there is no file"),
    ],
)
def test_a_missing_or_wrong_bulk_file_is_refused_in_one_line(sync, archives, monkeypatch, files, message):
    monkeypatch.chdir(archives)
    (archives / "load.txt").write_text("text")
    os.mkfifo(archives / "pipe.zip")
    done = sync("--all", "--from", files)
    assert (done.code, done.out) == (2, "")
    assert message in done.err.splitlines()[-1]


@pytest.fixture
def in_this_process(monkeypatch):
    """Bulk loads in one process, because worker processes take seconds to start."""

    @contextmanager
    def processes():
        with ThreadPoolExecutor(1) as pool:
            yield pool

    monkeypatch.setattr(bulk, "_processes", processes)


def load_of(lake, folder):
    progress = Progress(lambda _: None)
    BulkSync(lake, progress, None).run([folder / FACTS, folder / SUBMISSIONS])
    return progress


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("done", [None, 1], ids=["completed", "stopped after its last batch"])
def test_an_archive_that_was_loaded_before_is_unchanged_even_if_the_lake_is_compacted(
    lake, archives, monkeypatch, done
):
    archive = keep(CaptureStore.of(lake.location), archives / SUBMISSIONS)
    lake.keep_bulk_load("sec_filings", BulkLoad(archives=(archive.sha256,), done=done))
    monkeypatch.setattr(Upkeep, "compact_where_due", lambda *_, **__: True)
    message: list[str] = []
    BulkSync(lake, Progress(message.append), None).run([archives / SUBMISSIONS])
    assert message[0] == "submissions.zip: unchanged"
    assert lake.bulk_load("sec_filings").done is None


@pytest.mark.usefixtures("in_this_process")
def test_a_load_reports_its_size_and_vacuums_its_intermediate_versions(lake, archives, monkeypatch):
    monkeypatch.setattr(Upkeep, "compact_where_due", lambda *_, at_end=False: not at_end)
    vacuums = []
    monkeypatch.setattr(Lake, "vacuum_versions", lambda _, versions: vacuums.append(list(versions)))
    message: list[str] = []
    BulkSync(lake, Progress(message.append), None).run([archives / SUBMISSIONS])
    assert message[0] == "submissions.zip: 3 companies in 1 batch"
    assert vacuums == [[2, 1]]


def test_a_load_worker_exits_without_clean_up_and_ignores_ctrl_c(monkeypatch):
    for name in ("atexit", "gc", "signal", "threading", "use_one_heap"):
        monkeypatch.setattr(bulk_worker, name, Mock())
    bulk_worker.prepare_process(os.getppid())
    bulk_worker.atexit.register.assert_called_once_with(os._exit, 0)
    signals = bulk_worker.signal
    signals.signal.assert_called_once_with(signals.SIGINT, signals.SIG_IGN)


def members(companies):
    facts = {f"CIK{company.padded}.json": json.dumps(company.company_facts()).encode() for company in companies}
    submissions = {
        name: json.dumps(page).encode() for company in companies for name, page in company.submissions().items()
    }
    return {FACTS: facts, SUBMISSIONS: submissions}


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("kind", [FACTS, SUBMISSIONS])
def test_a_damaged_member_is_a_gap_until_good_files_replace_it(lake, tmp_path, kind):
    companies = made(len(damaged.KINDS) + 3, range(2016, 2017), older=1)
    content = members(companies)
    bad = dict(zip([f"CIK{company.padded}.json" for company in companies[1:]], damaged.KINDS, strict=False))
    for name in content:
        damaged.write(tmp_path / name, content[name], bad if name == kind else {})
    progress = load_of(lake, tmp_path)
    assert not progress.refused
    assert len(progress.failures) == 1
    assert f"the members of {len(bad)} companies can't be read (0000001001, " in progress.failures[0]
    good = len(companies) - len(bad)
    assert rows(lake, "SELECT count(DISTINCT cik), count(*) FROM sec_facts") == [(good, good * 12)]
    for dataset in ("sec_facts", "sec_filings") if kind == SUBMISSIONS else ("sec_facts",):
        assert rows(lake, f"SELECT count(*) FROM gaps WHERE dataset = '{dataset}'") == [(len(bad),)], dataset
    again = load_of(lake, tmp_path)
    assert again.failures == progress.failures
    for name in content:
        damaged.write(tmp_path / name, content[name], {})
    assert load_of(lake, tmp_path).failures == []
    well = Lake(tmp_path / "well")
    load_of(well, tmp_path)
    assert rows(lake, CONTENT) == rows(well, CONTENT)
    for dataset in ("sec_filings", "universe_events"):
        question = f"SELECT cik, accession_no, available_at FROM {dataset}_revisions ORDER BY ALL"
        assert rows(lake, question) == rows(well, question)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("change", ["missing", "unreadable"])
def test_facts_that_come_or_become_readable_in_a_later_file_are_loaded(lake, tmp_path, change):
    companies = made(3, range(2016, 2017))
    content = members(companies)
    content[FACTS].pop(name := f"CIK{companies[1].padded}.json")
    if change == "unreadable":
        content[FACTS][name] = (
            json.dumps(companies[1].company_facts()).replace('"val": ', '"val": "?", "was": ').encode()
        )
    for archive in content:
        damaged.write(tmp_path / archive, content[archive], {})
    assert len(load_of(lake, tmp_path).failures) == (change == "unreadable")
    damaged.write(tmp_path / FACTS, members(companies)[FACTS], {})
    assert load_of(lake, tmp_path).failures == []
    well = Lake(tmp_path / "well")
    load_of(well, tmp_path)
    assert rows(lake, CONTENT) == rows(well, CONTENT)


@pytest.mark.usefixtures("in_this_process")
def test_a_sync_with_a_missing_bulk_file_skips_it_in_the_plan(sync, edgar, lake, archives):
    sync("--all", "--from", f"{archives / FACTS},{archives / SUBMISSIONS}")
    (archives / FACTS).unlink()
    done = sync("--tickers", "TKA")
    assert done.code == 0, done.err
    assert f"  bulk files: skipped (there is no file '{archives / FACTS}'" in done.err
    assert lake.watch_list().companies == {"0000001000": ("TKA",)}


@pytest.mark.usefixtures("in_this_process")
def test_a_refused_load_leaves_nothing_on_the_watch_list(sync, edgar, lake, archives, monkeypatch):
    assert sync("--all", "--from", str(archives / FACTS)).code == 2
    assert lake.watch_list().archives == ()
    with monkeypatch.context() as refusing:
        refusing.setattr(Progress, "add", lambda progress, report: progress.refused.update({report.dataset: "no"}))
        assert sync("--all", "--from", f"{archives / FACTS},{archives / SUBMISSIONS}").code == 1
    assert lake.watch_list().archives == ()


@pytest.mark.usefixtures("in_this_process")
def test_damaged_members_end_a_sync_with_exit_code_1_and_their_count(sync, edgar, tmp_path):
    content = members(made(3))
    damaged.write(tmp_path / FACTS, content[FACTS], {"CIK0000001000.json": "null"})
    damaged.write(tmp_path / SUBMISSIONS, content[SUBMISSIONS], {})
    done = sync("--all", "--from", f"{tmp_path / FACTS},{tmp_path / SUBMISSIONS}")
    assert done.code == 1
    assert "bulk files: the members of 1 company can't be read (0000001000); download them again" in done.err
