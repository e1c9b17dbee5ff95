"""Writes the report: one page for the lake, one per dataset, a style sheet and the numbers as JSON, in one folder.

The pages need no script and no network. Files replace those of an earlier report one by one; the index is written last.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from pitlake import __version__, clock
from pitlake.bars import Bar, bar_chart
from pitlake.charts import Svg, sparkline
from pitlake.contract import Dataset
from pitlake.errors import BadInput, VersionVacuumed
from pitlake.gate.rules import GAP_TYPES
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.audit import Severity
from pitlake.lake.storage.incidents import Incident
from pitlake.lake.storage.log import Entry
from pitlake.lake.storage.manifest import Snapshot
from pitlake.recorder import write_whole
from pitlake.report import at_version
from pitlake.report.calendar import calendars
from pitlake.report.measures import Measures, measure
from pitlake.templates import environment

INDEX, GAPS, STYLE, NUMBERS = "index.html", "gaps.html", "report.css", "report.json"
SPARK_MONTHS = 30
MOST_MONTHS = 72
MOST_ENTRIES = 40
MOST_PASSED_OVER = 20


@dataclass(frozen=True)
class ExpectationResult:
    """An expectation, and the number of rows that break it."""

    name: str
    severity: Severity
    broken: int


@dataclass(frozen=True)
class ExpectationResults:
    """Expectation results for the newest `rows` rows of a dataset."""

    rows: int
    expected: tuple[ExpectationResult, ...]


Judge = Callable[[Dataset, Snapshot, Entry], ExpectationResults]
"""Validates rows against expectations; the platform supplies it."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """The content of a report: a version, its base, the measures of every dataset, and the time of the report.
    `commits` are the log's entries after the base, and `incidents` are those before the next version, both newest
    first. ends_at: the end of a simulated clock. claims: the number of items dated only by a provider, by source; they
    are not rows. standing: expectation results by dataset, if available.
    """

    version: Entry
    base: Entry
    made_at: datetime
    measures: Sequence[Measures]
    commits: Sequence[Entry]
    incidents: Sequence[Incident]
    ends_at: datetime | None = None
    claims: Mapping[str, int] = field(default_factory=dict)
    standing: Mapping[str, ExpectationResults] = field(default_factory=dict)

    @property
    def shown(self) -> Sequence[Measures]:
        """Return the datasets that have content or were checked, those with failing checks first."""
        measures = [each for each in self.measures if each.counts.rows or each.counts.gaps or each.check_reports]
        return sorted(measures, key=lambda each: not each.failing)

    @property
    def silent(self) -> Sequence[Dataset]:
        """Return the datasets without content in this lake."""
        return [measures.dataset for measures in self.measures if measures not in self.shown]


def read(
    lake: Lake,
    *,
    version: int | None = None,
    since: int | None = None,
    contracts: Mapping[str, Dataset] | None = None,
    at: datetime | None = None,
    judge: Judge | None = None,
    progress: Callable[[str], None] = lambda _text: None,
) -> Report:
    """Return the content of the report of a lake version (default: the newest).

    since: the version to compare with (default: the last version of another run that was not vacuumed, otherwise the
    version itself). at: the instant at which freshness is measured (default: now, or the end of the lake's data).
    judge: returns the expectation results. progress: called with a message before each dataset. Raises LakeNotFound,
    LakeError, VersionVacuumed, and BadInput for a base that is not an earlier version.
    """
    entry = lake.entry(version)
    base = _base(lake, entry) if since is None else lake.entry(since)
    if base.version > entry.version:
        raise BadInput("since", f"version {base.version} is newer than {entry.version}", "name an earlier version")
    made_at = at or lake.judged_at(clock.now())
    snapshot, before = lake.snapshot(entry.version), lake.snapshot(base.version)
    datasets = (contracts or lake.contracts(snapshot)).values()
    measures = []
    for place, dataset in enumerate(datasets):
        progress(f"reading the lake: {place} of {len(datasets)} datasets ({place / len(datasets):.0%})")
        measures.append(measure(lake, dataset, snapshot, before, made_at))
    return Report(
        version=entry,
        base=base,
        made_at=made_at,
        measures=measures,
        commits=[lake.entry(number) for number in range(entry.version, base.version, -1)],
        incidents=at_version.incidents(lake, entry.version),
        ends_at=lake.ends_at,
        claims=at_version.claims(lake, entry.version),
        standing={dataset.name: judge(dataset, snapshot, entry) for dataset in datasets} if judge else {},
    )


def write(report: Report, target: Path) -> None:
    """Write the pages of a report into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    pages = _environment()
    texts = {
        page_name(measures): pages.get_template("dataset.html").render(report=report, one=measures)
        for measures in report.shown
    }
    texts |= {
        STYLE: (files("pitlake.report") / "templates" / STYLE).read_text(),
        NUMBERS: json.dumps(numbers(report), indent=1),
    }
    for name, text in (
        texts | {name: pages.get_template(name).render(report=report) for name in (GAPS, INDEX)}
    ).items():
        write_whole(target / name, text.encode())


def _base(lake: Lake, entry: Entry) -> Entry:
    """Return the newest earlier version of another run that no vacuum removed; if there is none, the entry."""
    earlier = (lake.entry(number) for number in range(entry.version, 0, -1))
    last = entry.version - sum(1 for _ in takewhile(lambda commit: commit.run_id == entry.run_id, earlier))
    # Version 0 is empty and can always be opened, but a comparison with it would show every row as new.
    for number in range(last, max(last - MOST_PASSED_OVER, 0), -1):
        with suppress(VersionVacuumed):
            return lake.entry(lake.snapshot(number).version)
    return entry if last else lake.entry(0)


def numbers(report: Report) -> dict[str, Any]:
    """Return the report's numbers as plain values, for programs."""
    return {
        "version": report.version.version,
        "since": report.base.version,
        "made_at": clock.iso(report.made_at),
        "incidents": [
            {"run": incident.run_id, "at": clock.iso(incident.happened_at), "job": incident.job, "kind": incident.kind}
            | {"reasons": list(incident.reasons)}
            for incident in report.incidents
        ],
        "claims": dict(report.claims),
        "datasets": {
            measures.dataset.name: _numbers(measures) | _standing(report, measures) for measures in report.shown
        },
    }


def _standing(report: Report, measures: Measures) -> dict[str, Any]:
    standing = report.standing.get(measures.dataset.name)
    if standing is None:
        return {}
    return {"expectations": {"rows": standing.rows, "broken": {each.name: each.broken for each in standing.expected}}}


def _numbers(measures: Measures) -> dict[str, Any]:
    counts, before = measures.counts, measures.before
    return {
        "rows": counts.rows,
        "keys": counts.keys,
        "revisions": counts.revisions,
        "revised_keys": counts.revised_keys,
        "gaps": dict(measures.gaps),
        "since": {
            "rows": counts.rows - before.rows,
            "revisions": counts.revisions - before.revisions,
            "gaps": counts.gaps - before.gaps,
        },
        "sources": dict(measures.sources),
        "lags": dict(measures.lags),
        "late": {
            "count": measures.late.count,
            "median_seconds": measures.late.median,
            "largest_seconds": measures.late.largest,
            "newest": [
                {"evidence": arrival.evidence}
                | {name: clock.iso(getattr(arrival, name)) for name in ("available_at", "missed_at", "observed_at")}
                for arrival in measures.late.newest
            ],
        },
        "newest": None if measures.newest is None else clock.iso(measures.newest),
        "fresh": measures.freshness.passed,
        "polled": None if measures.polled is None else clock.iso(measures.polled),
        "columns": {
            column.name: {"nulls": column.nulls, "nulls_before": column.nulls_before, "added": column.is_added}
            for column in measures.columns
        },
        "days": {
            day.isoformat(): {"rows": what.rows, "revisions": what.revisions, "gaps": dict(what.gaps)}
            for day, what in sorted(measures.days.items())
        },
        "anomalies": [
            {"day": anomaly.day.isoformat(), "rows": anomaly.rows, "usual": anomaly.usual}
            for anomaly in measures.anomalies
        ],
        "drift": [
            {"source": drift.source, "field": drift.field, "compared": drift.compared, "changed": drift.changed}
            for drift in measures.drift
        ],
        "failing": [check.name for check in measures.failing],
    }


def page_name(measures: Measures) -> str:
    """Return the file name of a dataset's page."""
    return f"{measures.dataset.name}.html"


def months(measures: Measures) -> list[Bar]:
    """Return rows and revisions of every New York month between the first and the last."""
    first = {day: (what.rows - what.revisions, what.revisions) for day, what in measures.days.items()}
    return _by_month({day: (("rows", rows), ("revisions", again)) for day, (rows, again) in first.items()})


def gap_months(measures: Measures) -> list[Bar]:
    """Return gaps by type over the same months as `months`."""
    return _by_month(
        {day: [(kind, what.gaps.get(kind, 0)) for kind in GAP_TYPES] for day, what in measures.days.items()}
    )


def _by_month(days: Mapping[date, Iterable[tuple[str, int]]]) -> list[Bar]:
    if not days:
        return []
    sums: dict[int, dict[str, int]] = {}
    for day, parts in days.items():
        month = sums.setdefault(day.year * 12 + day.month - 1, {})
        for kind, count in parts:
            month[kind] = month.get(kind, 0) + count
    last = max(sums)
    span = range(max(min(sums), last - MOST_MONTHS + 1), last + 1)
    return [Bar(f"{number // 12}-{number % 12 + 1:02}", tuple(sums.get(number, {}).items())) for number in span]


def _sparkline(measures: Measures) -> Svg:
    totals = [bar.total for bar in months(measures)[-SPARK_MONTHS:]]
    return sparkline([0] * (SPARK_MONTHS - len(totals)) + totals, f"Rows by month of {measures.dataset.name}")


def _environment() -> jinja2.Environment:
    pages = environment(jinja2.PackageLoader("pitlake.report"))
    pages.globals |= {
        "bar_chart": bar_chart,
        "calendars": calendars,
        "gap_months": gap_months,
        "gap_types": GAP_TYPES,
        "months": months,
        "most_entries": MOST_ENTRIES,
        "page_name": page_name,
        "program_version": __version__,
        "sparkline": _sparkline,
    }
    pages.filters |= {
        "age": age,
        "breakable": lambda name: Markup("_<wbr>").join(name.split("_")),
        "code": code,
        "count": lambda number: f"{number:,}",
        "instant": lambda moment: "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC",
        "percent": percent,
        "span": span,
        "words": lambda name: name.replace("_", " "),
    }
    return pages


def code(text: str) -> Markup:
    """Format a contract's string as HTML, with code in backticks."""
    parts = enumerate(text.split("`"))
    return Markup("").join(Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in parts)


def percent(share: float) -> str:
    """Format a share, without rounding a small share to 0 % or a large one to 100 %."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.1f} %"


def span(seconds: float) -> str:
    """Format a length of time in its largest unit."""
    for unit, length in (("years", 365.25 * 86_400), ("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if abs(seconds) >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:,.1f} s"


def age(moment: datetime | None, at: datetime) -> str:
    """Format the time between two instants."""
    return "never" if moment is None else span(max((at - moment) / timedelta(seconds=1), 0.0))
