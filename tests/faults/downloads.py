"""Rounds of broken downloads: bulk files with damaged members, and syncs while EDGAR has faults. The result is
compared with a lake whose source never failed, which is built once per state of the source.
"""

import contextlib
import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from unittest.mock import patch

from checks import expectations
from pipelines.sync import bulk
from pipelines.sync.bulk import BulkSync
from pipelines.sync.progress import Progress
from pipelines.sync.run import Asked, sync
from pitlake import clock
from pitlake.lake import Lake
from pitlake.session import connect
from resources.http import client
from tests.loopback import Answer, Loopback
from tests.pipelines.sync import damaged
from tests.pipelines.sync.edgar import Company, answers, made
from tests.toys import stored

ARCHIVES = ("companyfacts.zip", "submissions.zip")
DATASETS = ("sec_filings", "sec_facts", "universe_events", "names")
OF_FETCH = ("evidence", "observed_at")
QUESTIONS = (
    "SELECT * EXCLUDE (evidence) FROM sec_filings_revisions ORDER BY ALL",
    "SELECT * EXCLUDE (evidence) FROM sec_facts_revisions ORDER BY ALL",
    "SELECT * EXCLUDE (evidence) FROM universe_events_revisions ORDER BY ALL",
    "SELECT DISTINCT cik, kind, name FROM names ORDER BY ALL",
)
ASKED_SHARE = 0.05
"""The share of rounds in which the answers of sessions are also compared."""
STATUSES = (403, 404, 408, 429, 500, 503)
FAULTS = ("drop", "short")
ONE_ENGINE = patch.object(expectations, "validate", lambda _rows, _rules: {})
"""Skips the second check of the rows, by Great Expectations, which would take half of a round's time."""
FILED = (clock.new_york_day(clock.now()) - timedelta(days=3)).isoformat()
"""The date of new filings, some days before today."""
JSON = {"content-type": "application/json"}


def content(lake: Lake) -> list[list[str]]:
    """Return the rows of every dataset that a sync fills, without the columns that depend on the fetch."""
    *rows, names = (stored(lake, dataset) for dataset in DATASETS)
    listed = [[str([value for name, value in row.items() if name not in OF_FETCH]) for row in each] for each in rows]
    return [*map(sorted, listed), sorted({f"{row['cik']} {row['kind']} {row['name']}" for row in names})]


def answered(lake: Lake) -> list[list[tuple[object, ...]]]:
    """Return the same rows as a session answers."""
    with connect(None, open_mode=True, lake=lake, isolation="in_process", datasets=DATASETS) as session:
        return [session.sql(question).rows() for question in QUESTIONS]


class Well:
    """Lakes whose source never failed, one per state of the source. load: fills a lake from the files of a folder."""

    def __init__(self, folder: str, load: Callable[[Lake, Path], Progress]) -> None:
        self._folder, self._load = Path(folder), load
        self._rows: dict[str, list[list[str]]] = {}

    def lake(self, state: str, home: Path) -> Lake:
        """Return the lake for the state that the source has now."""
        lake = Lake(self._folder / state)
        if state not in self._rows:
            if failures := self._load(lake, home).failures:
                raise RuntimeError(f"an undisturbed load failed: {failures}")
            self._rows[state] = content(lake)
        return lake

    def differences(self, lake: Lake, state: str, home: Path, chance: random.Random) -> list[str]:
        """Return a few rows that only one of the lakes has; "answers" if only the answers of sessions differ."""
        well = self.lake(state, home)
        left, right = (Counter(row for rows in each for row in rows) for each in (content(lake), self._rows[state]))
        if left != right:
            return [f"only in it {list(left - right)[:2]}", f"only in the well one {list(right - left)[:2]}"]
        return ["answers"] if chance.random() < ASKED_SHARE and answered(lake) != answered(well) else []


class Zips:
    """Rounds with bulk files that have one to five damaged members."""

    def __init__(self, folder: str) -> None:
        self._well = Well(folder, _loaded)

    def __call__(self, chance: random.Random, home: Path) -> tuple[Counter[str], list[str]]:
        companies = made(chance.randrange(6, 9), range(2016, 2017), older=chance.randrange(3))
        members = _members(companies)
        damages: dict[str, dict[str, str]] = {archive: {} for archive in ARCHIVES}
        for _ in range(chance.randint(1, 5)):
            archive = chance.choice(ARCHIVES)
            name = chance.choice(sorted(members[archive]))
            kinds = [kind for kind in damaged.KINDS if damaged.applies(kind, members[archive][name])]
            damages[archive][name] = chance.choice(kinds)
        for archive in ARCHIVES:
            damaged.write(home / archive, members[archive], damages[archive])
        bad = {name[3:13] for of_archive in damages.values() for name in of_archive}
        good = {company.padded for company in companies} - bad
        what = f"damages {damages}"
        lake = Lake(home / "lake")
        progress = _loaded(lake, home)
        problems = [f"stuck: refused {progress.refused}, {what}"] if progress.refused else []
        if f"members of {len(bad)} compan" not in "".join(progress.failures):
            problems.append(f"untrue: {progress.failures}, {what}")
        for dataset, due in (("sec_filings", 4), ("sec_facts", 12)):
            loaded = Counter(row["cik"] for row in stored(lake, dataset))
            problems += [f"lost: {dataset} of {cik}, {what}" for cik in good if loaded[cik] != due]
        for archive, dataset in zip(ARCHIVES, ("sec_facts", "sec_filings"), strict=True):
            gaps = [gap["locator"] for gap in stored(lake, f"gaps/{dataset}")]
            of_company = Counter(cik for cik in bad for locator in gaps if f"CIK{cik}" in locator)
            mains = {name[3:13] for name in damages[archive] if "-submissions-" not in name}
            problems += [f"untrue: {of_company[cik]} gaps of {cik}, {what}" for cik in mains if of_company[cik] != 1]
        for archive in ARCHIVES:
            damaged.write(home / archive, members[archive], {})
        if failures := _loaded(lake, home).failures:
            problems.append(f"stuck: {failures}, {what}")
        if found := self._well.differences(lake, _state(companies), home, chance):
            problems.append(f"lost: the good files did not mend it: {found}, {what}")
        return Counter(kind for of_archive in damages.values() for kind in of_archive.values()), problems


class Answers:
    """Rounds with an EDGAR that fails for a few syncs and then works for two. Half of the lakes were synced before."""

    def __init__(self, server: Loopback, folder: str) -> None:
        self._server, self._well = server, Well(folder, lambda lake, _: _synced(lake))

    def __call__(self, chance: random.Random, home: Path) -> tuple[Counter[str], list[str]]:
        companies = made(2, range(2016, 2017), older=chance.randrange(3))
        lake = Lake(home / "lake")
        if chance.random() < 0.5:
            self._publish(companies)
            shutil.copytree(self._well.lake(_state(companies), home).root, lake.root)
        counts, done = Counter[str](), []
        for _ in range(chance.randint(1, 4)):
            if chance.random() < 0.3:
                company = chance.choice(companies)
                company.reports(2017, len(company.filings) - 3, filed=FILED)
            self._publish(companies)
            for path in chance.sample(sorted(self._server.script), chance.randint(1, 3)):
                if "company_tickers" not in path:
                    kind, answer = _fault(chance, self._server.script[path][0])
                    self._server.plays(path, answer)
                    counts[kind] += 1
                    done.append((path, kind))
            _synced(lake)
        self._publish(companies)
        _synced(lake)
        last = _synced(lake)
        problems = [f"stuck: {last.failures} {last.refused} after {done}"] if last.failures or last.refused else []
        if found := self._well.differences(lake, _state(companies), home, chance):
            problems.append(f"lost: two well syncs did not mend {done}: {found}")
        return counts, problems

    def _publish(self, companies: list[Company]) -> None:
        self._server.reset()
        for path, body in answers(companies).items():
            self._server.plays(path, Answer(body, headers=JSON))


def _fault(chance: random.Random, answer: Answer) -> tuple[str, Answer]:
    kind = chance.choice((*map(str, STATUSES), *FAULTS, *damaged.CONTENTS))
    if kind.isdecimal():
        return kind, Answer(b"<?xml version='1.0'?><Error/>" if kind == "403" else b"", int(kind))
    if kind in FAULTS:
        return kind, Answer(answer.content, headers=JSON, fault=kind)
    if not damaged.applies(kind, answer.content):
        return "an object", Answer(b"{}", headers=JSON)
    return kind, Answer(damaged.CONTENTS[kind](answer.content), headers=JSON)


def _state(companies: list[Company]) -> str:
    return " ".join(f"{len(company.filings)}-{company.older}" for company in companies)


def _synced(lake: Lake) -> Progress:
    return sync(lake, Asked(tickers=("TKA", "BRK-B")), lambda _: None)


def _loaded(lake: Lake, home: Path) -> Progress:
    progress = Progress(lambda _: None)
    BulkSync(lake, progress, None).run([home / archive for archive in ARCHIVES])
    return progress


def _members(companies: list[Company]) -> dict[str, dict[str, bytes]]:
    facts = {f"CIK{company.padded}.json": json.dumps(company.company_facts()).encode() for company in companies}
    pages = {name: json.dumps(page).encode() for company in companies for name, page in company.submissions().items()}
    return dict(zip(ARCHIVES, (facts, pages), strict=True))


@contextlib.contextmanager
def zips() -> Iterator[Zips]:
    """Yield rounds that bulk-load in one process, because worker processes take seconds to start."""

    @contextlib.contextmanager
    def processes() -> Iterator[ThreadPoolExecutor]:
        with ThreadPoolExecutor(1) as pool:
            yield pool

    with patch.object(bulk, "_processes", processes), ONE_ENGINE, tempfile.TemporaryDirectory() as folder:
        yield Zips(folder)


@contextlib.contextmanager
def edgars() -> Iterator[Answers]:
    """Yield rounds with a simulated EDGAR on the loopback, queried again without waiting."""
    server = Loopback()
    variables = {"PITLAKE_SEC_EDGAR_URL": server.url, "SEC_EDGAR_USER_AGENT": "Jane Doe jane@example.com"}
    with (
        patch.dict(os.environ, variables),
        patch.object(client, "_backing_off", lambda _: 0.0),
        ONE_ENGINE,
        tempfile.TemporaryDirectory() as folder,
    ):
        try:
            yield Answers(server, folder)
        finally:
            server.close()
