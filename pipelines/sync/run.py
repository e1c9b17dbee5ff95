"""Runs a sync from the command line to the result: watch list, plan, and sources in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from uuid import uuid4

from assets.external import feed
from assets.feeds.feed import Feed, Scope, Unit
from assets.feeds.replaying import first_request
from assets.feeds.runs import run_feed
from assets.runs import RunReport
from checks.expectations import expected
from pipelines.sync import bulk, companies, prices, sources
from pipelines.sync.edgar import EdgarSync
from pipelines.sync.progress import Progress
from pipelines.sync.upkeep import Upkeep
from pitlake import clock
from pitlake.cli import render
from pitlake.errors import BadInput, LakeNotFound, SourceError
from pitlake.lake.lake import Lake
from pitlake.lake.storage.watch_list import WatchList
from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from resources.http.providers.sec_edgar import PROVIDER as EDGAR

PREMIUM = "premium endpoint"
NEW_COMPANY = (3, 4.5)
KNOWN_COMPANY = (1, 0.2)
"""The average number of requests and of megabytes per company at EDGAR."""
SECONDS_A_MEGABYTE = 1.0
BULK_BYTES_A_MINUTE = 30e6


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The additions of a command line to the watch list; None and () add nothing.

    archives: EDGAR's bulk files. prices: a file of bars, which is loaded once and not watched. headers: selects the
    filings whose SGML header is fetched.
    """

    tickers: tuple[str, ...] = ()
    ciks: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    archives: tuple[Path, ...] = ()
    prices: Path | None = None
    since: date | None = None
    sources: tuple[str, ...] = ()
    headers: str = "none"


def sync(lake: Lake, choice: Asked, say: Callable[[str], None]) -> Progress:
    """Update a lake according to its watch list and the additions.

    Raises LakeError, and SourceError if EDGAR's list of tickers can't be read. Raises BadInput before any request for
    an invalid command line, a missing contact for EDGAR, or an empty watch list.
    """
    watched = _watched(lake, choice)
    progress = Progress(say)
    due, missing = sources.steps(watched), _missing_archives(watched)
    for line in _plan(lake, watched, due, missing):
        say(line)
    before = lake.watch_list()
    lake.watch(watched)
    if choice.prices:
        prices.load(lake, choice.prices, progress)
    if watched.archives and not missing:
        bulk.BulkSync(lake, progress, watched.since).run(list(map(Path, watched.archives)))
        if progress.refused:
            watched = replace(watched, archives=before.archives)
            lake.watch(watched)
    if watched.companies and sources.uses(watched, sources.EDGAR):
        with EdgarSync(lake, progress, since=watched.since, headers=choice.headers) as edgar:
            edgar.run(list(watched.companies))
    for step in due:
        _run_step(lake, step, watched, progress)
    Upkeep(lake, [step.dataset for step in due]).compact_where_due(at_end=True)
    return progress


def _watched(lake: Lake, choice: Asked) -> WatchList:
    before = lake.watch_list()
    merged = dict(before.companies)
    if choice.tickers or choice.ciks:
        EDGAR.request_headers()
        with HttpClient(EDGAR, CaptureStore.of(lake.location), "refresh") as client:
            registrants = companies.registrants(client)
        for cik, tickers in {
            **companies.of_ciks(choice.ciks, registrants),
            **companies.of_tickers(choice.tickers, registrants),
        }.items():
            merged[cik] = tuple(dict.fromkeys((*merged.get(cik, ()), *tickers)))
    watched = replace(
        before,
        companies=merged,
        series=tuple(dict.fromkeys((*before.series, *choice.series))),
        archives=tuple(str(path.absolute()) for path in choice.archives) or before.archives,
        since=choice.since or before.since,
        sources=sources.checked(choice.sources) or before.sources,
    )
    if not watched.series and "alfred" not in sources.skipped(watched):
        watched = replace(watched, series=sources.DEFAULT_SERIES)
    if choice.archives:
        bulk.check(choice.archives)
    if choice.prices:
        prices.read(choice.prices)
    if not (watched.companies or watched.series or watched.archives or choice.prices):
        raise BadInput("--tickers", "this lake watches nothing yet", "name companies, such as --tickers AAPL,MSFT")
    if watched.companies and sources.uses(watched, sources.EDGAR):
        EDGAR.request_headers()
    return watched


def _missing_archives(watched: WatchList) -> str:
    """Return why the bulk files of the watch list can't be loaded, or ""."""
    try:
        if watched.archives:
            bulk.check(list(map(Path, watched.archives)))
    except BadInput as problem:
        return problem.problem
    return ""


def _plan(lake: Lake, watched: WatchList, due: Sequence[sources.Step], missing: str) -> list[str]:
    names = ", ".join(watched.tickers[:8]) + (", …" if len(watched.tickers) > len(watched.tickers[:8]) else "")
    since = f" since {watched.since}" if watched.since else ""
    lines = [
        f"plan: {render.count(len(watched.companies), 'company', 'companies')}{f' ({names})' if names else ''}{since}"
    ]
    if missing:
        lines.append(f"  bulk files: skipped ({missing}); load newer ones with --all --from")
    for path in () if missing else watched.archives:
        size = Path(path).stat().st_size
        time_text = render.count(max(round(size / BULK_BYTES_A_MINUTE), 1), "minute")
        lines.append(f"  {path}: {size / 1e6:,.0f} MB, about {time_text} if all of it is new")
    if watched.companies and sources.uses(watched, sources.EDGAR):
        new = [cik for cik in watched.companies if cik not in lake.watch_list().companies]
        existing = len(watched.companies) - len(new)
        requests, megabytes = (
            len(new) * each_new + existing * each_known
            for each_new, each_known in zip(NEW_COMPANY, KNOWN_COMPANY, strict=True)
        )
        lines.append(_estimate(sources.EDGAR, round(requests), megabytes, "filings, facts, universe and names"))
    lines += [_step_plan(lake, step, watched) for step in due]
    lines += [f"  {source}: skipped; {reason}" for source, reason in sources.skipped(watched).items()]
    return lines


def _estimate(source: str, requests: int, megabytes: float, what: str) -> str:
    count, seconds = {provider.name: provider.rate for provider in (EDGAR, *(step.provider for step in sources.STEPS))}[
        source
    ]
    minutes = (requests * seconds / count + megabytes * SECONDS_A_MEGABYTE) / 60
    time_text = render.count(max(round(minutes), 1), "minute")
    return f"  {source}: {what}; about {render.count(requests, 'request')}, {megabytes:,.0f} MB, {time_text}"


def _step_plan(lake: Lake, step: sources.Step, watched: WatchList) -> str:
    source = feed(step.dataset)
    stale = _stale(lake, step, source, step.scope(watched, sources.today()))
    return _estimate(
        source.provider.name, len(stale), len(stale) * 0.5, f"{step.dataset}, {render.count(len(stale), 'question')}"
    )


def _run_step(lake: Lake, step: sources.Step, watched: WatchList, progress: Progress) -> None:
    """Run one dataset of a source over the units that were not requested recently."""
    source = feed(step.dataset)
    scope = step.scope(watched, sources.today())
    stale = _stale(lake, step, source, scope)
    if not stale:
        progress.say(f"{step.dataset}: up to date")
        return
    names = {unit.name for unit in stale}
    source = replace(
        source, units=lambda scope: [unit for unit in feed(step.dataset).units(scope) if unit.name in names]
    )
    try:
        report = _asked(lake, step, source, scope, progress)
        if step.without_premium and any(reason == PREMIUM for _, reason in report.gaps):
            progress.say(
                f"{step.dataset}: the key gives access to only a part; requesting {dict(step.without_premium)}"
            )
            report = _asked(lake, step, source, replace(scope, options=step.without_premium), progress)
    except SourceError as problem:
        progress.unanswered(step.dataset, problem)
        return
    progress.add(report)
    progress.line(f"{source.provider.name}: {step.dataset} is in the lake")


def _asked(lake: Lake, step: sources.Step, source: Feed, scope: Scope, progress: Progress) -> RunReport:
    with HttpClient(source.provider, CaptureStore.of(lake.location), step.mode) as client:
        return run_feed(
            source, scope, progress.counting(client), lake, run_id=f"sync-{uuid4().hex}", audits=(expected,)
        )


def _stale(lake: Lake, step: sources.Step, source: Feed, scope: Scope) -> list[Unit]:
    """Return the units of a scope whose newest answer is too old."""
    units = source.units(scope)
    if step.every is None:
        return list(units)
    store, now = CaptureStore.of(lake.location), clock.now()
    stale = []
    for unit in units:
        request = first_request(source, unit)
        taken = store.instants(source.provider.name, request.key(source.provider.name)) if request else []
        if not taken or now - clock.from_micros(taken[-1]) >= step.every:
            stale.append(unit)
    return stale


def version(lake: Lake) -> int:
    """Return the lake's newest version, 0 if there is none."""
    try:
        return lake.head()
    except LakeNotFound:
        return 0
