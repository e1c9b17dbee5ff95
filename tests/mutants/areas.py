"""The files to mutate, by area, and the tests that should notice."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Area:
    """Globs of files and of the tests that cover them.

    through: maps a file that runs in separate processes, which are not traced, to the file that starts these processes
    or talks to them. Tests of the latter may notice. ANY means that any test may notice.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    through: dict[str, str] = field(default_factory=dict)

    def sources(self, root: Path) -> list[str]:
        """Return the area's files, relative to the root."""
        return list(_matching(root, self.files))

    def test_files(self, root: Path) -> list[str]:
        """Return the area's test files, relative to the root."""
        return list(_matching(root, self.tests))


def _matching(root: Path, patterns: tuple[str, ...]) -> Iterator[str]:
    paths = {path for pattern in patterns for path in root.glob(pattern) if path.name != "__init__.py"}
    yield from sorted(str(path.relative_to(root)) for path in paths)


ANY = "*"
_SEAL = "pitlake/session/sealed"
_HOOKS = ".claude/hooks"
_WALL = "tests/wall/test_*.py"
_FIGURES = "tests/assets/external/figures"

AREAS = {
    "clock": Area(
        ("pitlake/clock.py", "pitlake/exchange.py"),
        ("tests/test_clock.py", f"{_FIGURES}/test_bars.py", f"{_FIGURES}/test_figures.py"),
    ),
    "gate": Area(
        ("pitlake/gate/**/*.py",),
        ("tests/gate/test_*.py", "tests/test_envelope.py", "tests/agents/test_gate.py"),
    ),
    "cut": Area(
        ("pitlake/session/visible/**/*.py", "pitlake/session/viewpoint.py"),
        (
            "tests/session/test_*.py", "tests/doors/test_hindsight.py", "tests/doors/test_known_by.py",
            "tests/doors/test_later_rows.py", _WALL,
        ),
    ),
    "seal": Area(
        (
            f"{_SEAL}/**/*.py", "pitlake/session/sql/**/*.py", "pitlake/session/sealing.py",
            "pitlake/session/backends.py",
        ),
        (
            "tests/session/test_*.py", "tests/doors/test_hindsight.py", "tests/doors/test_provenance.py",
            "tests/mounting/test_sealed.py", "tests/wall/test_wall.py",
        ),
        {f"{_SEAL}/{name}.py": f"{_SEAL}/process.py" for name in ("child", "protocol", "sandbox", "zygote")}
        | {f"pitlake/session/sql/{name}.py": f"{_SEAL}/process.py" for name in ("arrow_fidelity", "engine", "reading")},
    ),
    "session": Area(
        ("pitlake/session/[!bsv]*.py", "pitlake/session/session.py"),
        ("tests/session/test_*.py", "tests/doors/test_hindsight.py", "tests/doors/test_known_by.py"),
    ),
    "lake": Area(
        ("pitlake/lake/*.py", *(f"pitlake/lake/{folder}/**/*.py" for folder in ("storage", "tables", "upkeep"))),
        ("tests/lake/test_*.py", "tests/faults/test_*.py"),
    ),
    "publishing": Area(
        ("pitlake/lake/publishing/**/*.py",),
        (
            "tests/lake/test_*.py", "tests/assets/test_drift.py", "tests/assets/test_late_looks.py",
            "tests/wall/test_late.py",
            "tests/faults/test_*.py",
        ),
    ),
    "mounting": Area(
        ("pitlake/lake/mounting/**/*.py", "pitlake/cli/mount.py"),
        ("tests/mounting/test_*.py", "tests/wall/test_mounted.py"),
    ),
    "dating": Area(
        ("assets/edgar.py", "assets/feeds/dating.py", "assets/feeds/claimed.py", "assets/feeds/acceptances.py",
         "assets/feeds/releases.py"),
        (
            "tests/assets/test_edgar.py", "tests/assets/external/test_*.py", f"{_FIGURES}/test_bars.py",
            f"{_FIGURES}/test_earnings.py", f"{_FIGURES}/test_figures.py",
        ),
    ),
    "sync": Area(
        ("pipelines/sync/**/*.py", "pipelines/commands/sync.py"),
        ("tests/pipelines/sync/test_*.py",),
        {"pipelines/sync/bulk_worker.py": "pipelines/sync/bulk.py"},
    ),
    "proxy": Area(("pitlake/proxy/**/*.py", "pitlake/cli/proxy.py"), ("tests/proxy/test_*.py",)),
    "names": Area(
        (
            "assets/derived/names.py", "assets/feeds/naming.py", "assets/external/sec_edgar/_names.py",
            "assets/external/sec_edgar/universe_events.py", "pitlake/questions/tickers.py",
        ),
        (
            "tests/derived/test_assets.py", "tests/derived/test_names.py", "tests/derived/test_tickers.py",
            "tests/assets/external/test_universe_events.py",
            "tests/assets/external/test_earningscall.py", "tests/assets/external/test_benzinga.py",
            "tests/assets/external/test_feeds.py", "tests/assets/external/test_changed_past.py",
            "tests/assets/external/test_naming.py", "tests/assets/external/test_sec_edgar.py",
            f"{_FIGURES}/test_figures.py",
            "tests/doors/test_names_known_later.py", "tests/catalogue/test_universe.py",
            "tests/catalogue/test_of_company.py", f"{_FIGURES}/test_yahoo.py",
        ),
    ),
    "splits": Area(
        (
            "assets/splits.py", "assets/graph/_basis.py", "assets/graph/_traded.py", "assets/graph/_actions.py",
            "assets/graph/splits.py", "assets/graph/dividends.py", "assets/external/polygon/*.py",
        ),
        (
            "tests/assets/test_basis.py", "tests/assets/test_extractors.py", "tests/assets/test_dividends.py",
            "tests/assets/test_event_returns.py", "tests/derived/test_splits.py", f"{_FIGURES}/test_*.py",
            "tests/wall/test_split_worlds.py", "tests/checks/test_warnings.py",
            "tests/assets/external/test_changed_past.py",
        ),
    ),
    "studies": Area(
        ("pitlake/studies/**/*.py", "pitlake/cli/study.py"),
        ("tests/studies/test_*.py", "tests/cli/test_commands.py", "tests/doors/test_commands.py"),
    ),
    "tracking": Area(
        ("forge/tracking/**/*.py",),
        tuple(
            f"tests/forge/test_{name}.py"
            for name in (
                "account", "alerts", "analytics", "book", "commands", "currencies", "halts", "held", "holes", "judging",
                "ledger", "limits", "morning", "partial_fills", "paths", "quotes", "rebuild", "risk", "scores",
                "settlement", "terms", "untaken", "walk",
            )
        ),
    ),
    "capture": Area(
        ("resources/http/**/*.py",),
        (
            "tests/resources/http/test_*.py", "tests/lake/test_remote.py", "tests/providers/test_faults.py",
            f"{_FIGURES}/test_refusals.py",
        ),
    ),
    "receipts": Area(
        ("pitlake/answers/receipts.py",),
        ("tests/session/test_receipts.py", "tests/doors/test_receipts.py"),
    ),
    "hooks": Area(
        (f"{_HOOKS}/*.py",),
        (
            "tests/agents/test_gate.py", "tests/agents/test_guard*.py", "tests/agents/test_places.py",
            "tests/agents/test_answer.py",
        ),
        {f"{_HOOKS}/{name}.py": ANY for name in ("pit_call", "pit_gate", "pit_guard", "pit_places")},
    ),
}  # fmt: skip
