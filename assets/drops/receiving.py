"""Receives dropped files and publishes their rows: each version once, in the order of receipt.

A file is dated by its capture. Nothing in the file or the file system can change this date. A run publishes all
versions that no earlier run has published, so the next run completes a killed run.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from assets.feeds.feed import Feed, Scope
from assets.feeds.runs import nothing_asked, run_once
from assets.runs import RunReport
from pitlake import clock
from pitlake.errors import BadInput, CheckFailed
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Audit
from resources.http.capture import Capture, CaptureStore, Request
from resources.http.client import HttpClient, captured
from resources.http.provider import Provider, judge_status

DROPS_VARIABLE = "PITLAKE_DROPS"
SETTLED_SECONDS = 5.0
MOST_BYTES = 64 << 20
TYPES = {
    ".csv": "text/csv; charset=utf-8",
    ".pdf": "application/pdf",
    ".html": "text/html",
    ".htm": "text/html",
    ".md": "text/markdown; charset=utf-8",
}


def dropped(name: str) -> Provider:
    """Return a provider that represents the folder of a dataset's files. Rows cite this provider."""
    return Provider(name=name, base_url=f"drop://{name}", rate=(1, 1.0), judge=judge_status)


def receive(feed: Feed, folder: Path, store: CaptureStore, *, settled: float = SETTLED_SECONDS) -> list[Capture]:
    """Capture every file below a folder whose content differs from the newest capture of the same name.

    Hidden files, links, suffixes outside TYPES, and files written less than `settled` seconds ago are skipped. Raises
    BadInput for a missing folder and for a file of more than MOST_BYTES.
    """
    if not folder.is_dir():
        raise BadInput("folder", f"{folder} is not a directory", "create it, or name the folder of dropped files")
    received = []
    for path in sorted(folder.rglob("*")):
        name = PurePosixPath(path.relative_to(folder))
        if any(part.startswith(".") for part in name.parts) or path.is_symlink() or not path.is_file():
            continue
        if path.suffix.lower() not in TYPES or clock.now().timestamp() - path.stat().st_mtime < settled:
            continue
        if path.stat().st_size > MOST_BYTES:
            raise BadInput("folder", f"{name} has more than {MOST_BYTES >> 20} MB", "split it, or remove it")
        request, content = Request(quote(str(name))), path.read_bytes()
        newest = next(store.newest_first(feed.provider.name, request.key(feed.provider.name)), None)
        if newest is None or newest.sha256 != sha256(content).hexdigest():
            headers = {"content-type": TYPES[path.suffix.lower()]}
            received.append(store.put(captured(feed.provider, request, content, headers=headers)))
    store.flush()
    return received


def publish(
    feed: Feed, store: CaptureStore, lake: Lake, *, run_id: str, audits: Sequence[Audit] = ()
) -> Iterator[RunReport]:
    """Publish every received file that no run has published yet, each as one lake version.

    The first refused file ends the run. A refused file is skipped once there is a newer file of the same name. Without
    new files, the report says that nothing changed.
    """
    received = sorted(store.every(feed.provider.name), key=lambda capture: (capture.fetched_at, capture.url))
    newest: Mapping[str, Capture] = {capture.request_key: capture for capture in received}
    judged = {
        report.run_id.rpartition(".")[2]: report
        for report in lake.check_reports(feed.dataset.name)
        if not report.refusal
    }
    refused = {report.run_id.rpartition(".")[2] for report in lake.check_reports(feed.dataset.name) if report.refusal}

    def waits(capture: Capture) -> bool:
        mark = _mark(capture)
        return mark not in judged and (mark not in refused or newest[capture.request_key] is capture)

    waiting = [capture for capture in received if waits(capture)]
    for capture in waiting:
        scope = Scope(queries=(capture.url.removeprefix(f"{feed.provider.base_url}/"),))
        with HttpClient(feed.provider, store, "replay", until=capture.fetched_at) as client:
            report = run_once(feed, scope, client, lake, run_id=f"{run_id}.{_mark(capture)}", audits=audits)
        yield report
        if isinstance(report.outcome, CheckFailed):
            return
    if not waiting:
        yield nothing_asked(feed, lake, run_id, audits)


def _mark(capture: Capture) -> str:
    return f"{clock.micros(capture.fetched_at)}-{capture.sha256[:16]}"
