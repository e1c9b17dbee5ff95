"""The result of an audit: what was found, what was checked, and what could not be checked."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from pitlake.audit.by_lake import LAKE_RULES, opened
from pitlake.audit.finding import Finding, NotChecked
from pitlake.audit.rules import RULES
from pitlake.audit.table import Table, read
from pitlake.times.sql import DEFAULT_ZONE

TITLES = {name: title for name, (title, _) in (*RULES.items(), *LAKE_RULES.items())}
"""What each rule looks for, by its name."""
BADGE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="look-ahead: {text}">'
    '<rect width="78" height="20" fill="#555"/><rect x="78" width="{rest}" height="20" fill="{colour}"/>'
    '<g fill="#fff" font-family="Verdana,sans-serif" font-size="11"><text x="6" y="14">look-ahead</text>'
    '<text x="84" y="14">{text}</text></g></svg>\n'
)


@dataclass(frozen=True)
class AuditReport:
    """The result of an audit of one table.

    Attributes:
        table: The table's name.
        rows: The number of its rows.
        roles: The column of each meaning.
        findings: Rows with hindsight, by rule.
        clean: The rules that found nothing.
        skipped: Why other rules were not applied, by rule.
    """

    table: str
    rows: int
    roles: dict[str, str]
    findings: tuple[Finding, ...]
    clean: tuple[str, ...]
    skipped: dict[str, str]

    def __str__(self) -> str:
        count, rules = len(self.findings), len(self.clean)
        applied = rules + len({each.rule for each in self.findings})
        looked = f"{applied} of {applied + len(self.skipped)} rules applied"
        if not count:
            return f"{self.table}: no hindsight found in {self.rows:,} rows; {looked}"
        return f"{self.table}: {count} kind{'s' * (count > 1)} of hindsight in {self.rows:,} rows; {looked}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)

    def badge(self) -> str:
        """Return an SVG badge."""
        text = f"{len(self.findings)} found" if self.findings else "none found"
        rest = 12 + 7 * len(text)
        return BADGE.format(text=text, rest=rest, width=78 + rest, colour="#c33" if self.findings else "#383")


def audit(table: Any, *, lake: Any = None, timezone: str = DEFAULT_ZONE, **columns: str | None) -> AuditReport:
    """Audit a table for hindsight by its own columns and, if a lake is given, by the facts of the lake.

    Args:
        table: A CSV, Parquet or JSON lines file, a URL, or a frame of pandas, polars or Arrow.
        lake: A lake or its root. Its facts reveal restated values under first dates, and later tickers.
        timezone: The zone of timestamps without one.
        columns: Names of columns where a guess would be wrong, by meaning: available_at, valid_at, date, key, …

    Raises:
        BadInput: For a table that can't be read or has no column of times, and for an unknown column.
    """
    contents = read(table, timezone=timezone, names=columns)
    findings, clean, skipped = list[Finding](), list[str](), dict[str, str]()
    with ExitStack() as stack:
        for name, rule in _rules(contents, lake, stack):
            try:
                of_rule = rule()
            except NotChecked as reason:
                skipped[name] = str(reason)
                continue
            findings += of_rule
            if not of_rule:
                clean.append(name)
    first_roles: dict[str, str] = {}
    for role, column in contents.roles.items():
        first_roles.setdefault(column, role)
    roles = {role: column for column, role in first_roles.items()}  # without the redundant meanings of a column
    return AuditReport(contents.label, len(contents.rows), roles, tuple(findings), tuple(clean), skipped)


def _rules(contents: Table, lake: Any, stack: ExitStack) -> Iterator[tuple[str, Callable[[], list[Finding]]]]:
    for name, (_, rule) in RULES.items():
        yield name, partial(rule, contents)
    if lake is not None:
        session = stack.enter_context(opened(lake))
        for name, (_, by_lake) in LAKE_RULES.items():
            yield name, partial(by_lake, contents, session)
