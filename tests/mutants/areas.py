"""What is mutated, by area, and which tests are to notice."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Area:
    """Files and the tests that speak of them, as globs; `elsewhere`: files that tests run in processes of their own, so
    that which test runs which function can't be seen.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]
    elsewhere: frozenset[str] = frozenset()

    def sources(self, root: Path) -> list[str]:
        """Its files, relative to the root."""
        return list(_found(root, self.files))

    def test_files(self, root: Path) -> list[str]:
        """The files of its tests, relative to the root."""
        return list(_found(root, self.tests))


def _found(root: Path, patterns: tuple[str, ...]) -> Iterator[str]:
    for pattern in patterns:
        yield from sorted(str(path.relative_to(root)) for path in root.glob(pattern) if path.name != "__init__.py")


_HOOKS = ("pit_call", "pit_gate", "pit_guard")
_SEALED = (
    "sealed/child", "sealed/process", "sealed/protocol", "sealed/sandbox", "sealed/zygote", "sql/arrow_fidelity",
    "sql/engine",
)  # fmt: skip

AREAS = {
    "clock": Area(("pitlake/clock.py",), ("tests/test_clock.py",)),
    "gate": Area(
        ("pitlake/gate/*.py",),
        ("tests/gate/test_[!b]*.py", "tests/test_envelope.py", "tests/agents/test_gate.py"),
    ),
    "session": Area(
        ("pitlake/session/**/*.py",),
        ("tests/session/test_*.py", "tests/doors/test_hindsight.py", "tests/doors/test_known_by.py"),
        frozenset(f"pitlake/session/{name}.py" for name in _SEALED),
    ),
    "lake": Area(("pitlake/lake/*.py",), ("tests/lake/test_*.py",)),
    "dating": Area(
        (
            "assets/edgar.py", "assets/feeds/dating.py", "pitlake/exchange.py",
            "assets/feeds/acceptances.py",
        ),
        (
            "tests/assets/test_edgar.py", "tests/assets/external/test_dating.py",
            "tests/assets/external/test_acceptances.py", "tests/assets/external/test_sec_edgar.py",
            "tests/assets/external/figures/test_bars.py",
        ),
    ),
    "capture": Area(("resources/http/*.py",), ("tests/resources/http/test_*.py", "tests/lake/test_remote.py")),
    "receipts": Area(
        ("pitlake/answers/receipts.py",),
        ("tests/session/test_receipts.py", "tests/doors/test_receipts.py"),
    ),
    "hooks": Area(
        (".claude/hooks/*.py",),
        (
            "tests/agents/test_gate.py", "tests/agents/test_guard*.py", "tests/agents/test_places.py",
            "tests/agents/test_answer.py",
        ),
        frozenset(f".claude/hooks/{name}.py" for name in _HOOKS),
    ),
}  # fmt: skip
