"""The verdict on a soak: the evidence as plain data, and the problems in it. Nothing is queried here.

Every fault must show as a run in the UI, in an alert and in the report, and must have no effect after its end. Every
failed run must be explained by a fault, and memory must not grow. `tests.soak.campaign` gathers and prints.
"""

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

MOST_GROWTH, LEAST_BYTES = 0.10, 16 << 20
SLOWEST_ALERT_SECONDS = 300.0
JOBS = ("graph_days", "macro_watch", "maintenance", "quality")
DIED = "the run ended before a step could say why"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run as the UI shows it. `why` has one line per failed step, `unanswered` the datasets whose check `answered`
    failed. Times are seconds since the epoch. `again` is the run that this one retries.
    """

    id: str
    job: str
    status: str
    created: float
    started: float | None = None
    ended: float | None = None
    again: str | None = None
    window: str = ""
    why: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()

    @property
    def died(self) -> bool:
        """Return whether the run failed although no step states a reason."""
        return self.status == "FAILURE" and not self.why

    def overlaps(self, fault: "Fault") -> bool:
        """Return whether the run overlaps the time of a fault."""
        return self.created <= fault.ended and (self.ended or fault.ended) >= fault.began


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault: its begin and end, the job it hits, and its signs. step: in a failed step's text. told: in an alert."""

    name: str
    began: float
    ended: float
    job: str
    step: str
    told: str

    def explains(self, run: Run) -> bool:
        """Return whether this fault explains a run's failure."""
        if not run.overlaps(self):
            return False
        if self.name == "daemon":
            return run.died
        if self.name == "provider":
            return bool(run.unanswered)
        return any(self.step in line for line in run.why)


@dataclass(frozen=True, kw_only=True)
class Alert:
    """An alert as received."""

    at: float
    title: str
    body: str


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence of a soak. incidents: the reasons in the report, by run. page: the report's first page. memory: the
    time in seconds and the bytes by process, since the last start of the daemon. lake: the problems of the lake.
    """

    runs: Sequence[Run]
    faults: Sequence[Fault]
    alerts: Sequence[Alert]
    incidents: Mapping[str, Sequence[str]]
    page: str
    memory: Sequence[tuple[float, Mapping[str, int]]]
    lake: Sequence[str]
    log_errors: Sequence[str] = ()


def judge(seen: Evidence) -> tuple[list[str], list[str]]:
    """Return lines to print about a soak, and its problems. It passed if there are none."""
    lines, problems = _runs(seen)
    for part in (*(_fault(seen, fault) for fault in seen.faults), _memory(seen.memory)):
        lines += part[0]
        problems += part[1]
    problems += [*_unexplained(seen), *_untold(seen), *seen.lake]
    problems += [f"a sensor or schedule failed: {line}" for line in seen.log_errors]
    return lines, problems


def _runs(seen: Evidence) -> tuple[list[str], list[str]]:
    outcomes = Counter((run.job, run.status) for run in seen.runs)
    lines = [f"{job:16} {status:10} {count}" for (job, status), count in sorted(outcomes.items())]
    problems = [f"run {run.id} never ended" for run in seen.runs if run.status not in ("SUCCESS", "FAILURE")]
    for job in JOBS:
        ended = sorted((run for run in seen.runs if run.job == job and run.ended), key=lambda run: run.ended or 0)
        if not ended or ended[-1].status != "SUCCESS":
            problems.append(f"the last run of {job} is not a success")
    return lines, problems


def _fault(seen: Evidence, fault: Fault) -> tuple[list[str], list[str]]:
    hit = [run for run in seen.runs if fault.explains(run)]
    reply = {
        run.id: [alert for alert in seen.alerts if run.id in alert.body and fault.told in alert.body] for run in hit
    }
    listing = [run for run in hit if any(fault.told in reason for reason in seen.incidents.get(run.id, ()))]
    display = [run for run in listing if run.id[:8] in seen.page]
    delays = [reply[run.id][0].at - (run.ended or 0) for run in hit if reply[run.id]]
    well = [run.ended - fault.ended for run in seen.runs if _is_well(run, fault) and run.ended]
    lines = [
        f"{fault.name}: {fault.ended - fault.began:.0f} s; {len(hit)} runs show it in the UI, "
        f"{len(delays)} told of by alerts, {len(listing)} in report.json, {len(display)} on the report's first page; "
        f"slowest alert {max(delays, default=0):.0f} s after the run's end; "
        + (f"next good {fault.job} {min(well):.0f} s after the fault" if well else "never well again")
    ]
    problems = [f"{fault.name} shows in no run of the UI"] if not hit else []
    problems += [f"{fault.name}: no alert tells of run {run.id}" for run in hit if not reply[run.id]]
    problems += [f"{fault.name}: the report does not list run {run.id}" for run in hit if run not in listing]
    problems += [f"{fault.name}: the report's page does not show run {run.id}" for run in listing if run not in display]
    problems += [f"{fault.name}: an alert took {late:.0f} s" for late in delays if late > SLOWEST_ALERT_SECONDS]
    problems += [] if well else [f"{fault.name}: no {fault.job} ended well after it"]
    if fault.name == "daemon":
        again = [run for run in hit if any(each.again == run.id and _is_answered_for(seen, each) for each in seen.runs)]
        lines.append(f"daemon: {len(again)} of {len(hit)} killed runs were started again, and ended well or by a fault")
        problems += [f"daemon: run {run.id} was not made good" for run in hit if run not in again]
    return lines, problems


def _is_answered_for(seen: Evidence, run: Run) -> bool:
    return run.status == "SUCCESS" or any(fault.explains(run) for fault in seen.faults)


def _is_well(run: Run, fault: Fault) -> bool:
    good = run.status == "SUCCESS" and not run.unanswered
    return run.job == fault.job and good and (run.started or 0) > fault.ended


def _unexplained(seen: Evidence) -> Iterator[str]:
    for run in seen.runs:
        if (run.status == "FAILURE" or run.unanswered) and not any(fault.explains(run) for fault in seen.faults):
            yield f"{run.job} {run.id} failed without a fault: {run.why or DIED}"
        for line in run.why:
            if not any(fault.step in line and run.overlaps(fault) for fault in seen.faults if fault.step):
                yield f"{run.job} {run.id}: a step failed for a reason of its own: {line[:200]}"


def _untold(seen: Evidence) -> Iterator[str]:
    """Yield failed runs that are not reported exactly once, and reports of runs that did not fail."""
    counts = Counter(match for alert in seen.alerts for match in re.findall(r"^run (\S+)$", alert.body, re.MULTILINE))
    due = {run.id for run in seen.runs if run.status == "FAILURE" or run.unanswered}
    yield from (f"no alert tells of run {run}" for run in due - counts.keys())
    yield from (f"{count} alerts tell of run {run}" for run, count in counts.items() if count > 1)
    yield from (f"an alert tells of run {run}, which ended well" for run in counts.keys() - due)
    yield from (f"the report does not list run {run}" for run in due - seen.incidents.keys())
    yield from (f"the report lists run {run}, which ended well" for run in seen.incidents.keys() - due)


def _memory(samples: Sequence[tuple[float, Mapping[str, int]]]) -> tuple[list[str], list[str]]:
    """Return lines and problems about the growth of each process, and of all, from first to last quarter."""
    names = sorted({name for _, sizes in samples for name in sizes})
    whole = [(at, dict(sizes)) for at, sizes in samples if len(sizes) == len(names)]
    if len(whole) < 8 or not names:
        return [], ["memory was measured too seldom"]
    series = {name: [(at, sizes[name]) for at, sizes in whole] for name in names}
    series["all together"] = [(at, sum(sizes.values())) for at, sizes in whole]
    lines, problems = [], []
    for name, points in series.items():
        quarter = len(points) // 4
        early, late = (statistics.median(size for _, size in part) for part in (points[:quarter], points[-quarter:]))
        slope = statistics.linear_regression(*zip(*points, strict=True)).slope * 3600
        lines.append(
            f"memory, {name}: {early / 2**20:.1f} → {late / 2**20:.1f} MiB ({late / early - 1:+.1%}), "
            f"slope {slope / 2**20:+.1f} MiB/h over {points[-1][0] - points[0][0]:.0f} s, {len(points)} samples"
        )
        if late - early > max(MOST_GROWTH * early, LEAST_BYTES if name != "all together" else 0):
            problems.append(f"memory of {name} grew from {early / 2**20:.1f} to {late / 2**20:.1f} MiB")
    holes = [later - earlier for (earlier, _), (later, _) in pairwise(whole)]
    return [*lines, f"memory: longest time between two samples {max(holes):.0f} s"], problems
