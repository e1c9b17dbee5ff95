"""`pytest --asofbench my.py:Store`: one test for each class of leaks, in a project's own suite."""

from collections.abc import Iterator
from typing import Any

import pytest

from asofbench.__main__ import scored
from asofbench.generate import CLASSES, SEED
from asofbench.grading import CAUGHT, UNABLE
from asofbench.report import outcome_of
from asofbench.run import Plan
from asofbench.systems import BadTarget, found


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("asofbench", "leaks of the future")
    group.addoption("--asofbench", metavar="SYSTEM", help="file.py:Class of an adapter, or an entry point")
    group.addoption("--asofbench-classes", nargs="+", choices=CLASSES, metavar="CLASS", help="only these classes")
    group.addoption("--asofbench-seed", default=SEED, metavar="SEED", help="makes other cases")


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add one test per class."""
    if name := config.getoption("--asofbench"):
        try:
            suite = Suite.from_parent(session, name=f"asofbench-{name}", system=found(name))
        except BadTarget as problem:
            raise pytest.UsageError(str(problem)) from None
        items += suite.collect()


class Suite(pytest.Collector):
    """All classes of one system, scored when the first test runs."""

    def __init__(self, *, system: Any, **options: Any) -> None:
        super().__init__(**options)
        self._system, self._report = system, None

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test per class."""
        for name in self.config.getoption("--asofbench-classes") or CLASSES:
            yield ClassOfLeaks.from_parent(self, name=name)

    def report(self) -> Any:
        """Return the system's part of the report, or why it did not run."""
        if self._report is None:
            classes = self.config.getoption("--asofbench-classes") or ()
            report = scored([self._system], Plan(seed=self.config.getoption("--asofbench-seed"), classes=classes))
            self._report = (report["systems"] or report["not_run"])[0]
        return self._report


class ClassOfLeaks(pytest.Item):
    """One class of leaks."""

    def runtest(self) -> None:
        """Fail with the verdicts that are not right."""
        report = self.parent.report()  # type: ignore[union-attr]
        if "why" in report:
            pytest.fail(report["why"], pytrace=False)
        if outcome_of(report["by_class"][self.name]) == UNABLE:
            pytest.skip("the system has nothing to ask this of")
        if outcome_of(report["by_class"][self.name]) != CAUGHT:
            lines = (
                f"{failure['verdict']}: {failure['why']} (in {failure['cases']} cases, such as {failure['first']})"
                for failure in report["failures"]
                if failure["class"] == self.name
            )
            pytest.fail("\n".join(lines), pytrace=False)

    def reportinfo(self) -> tuple[Any, None, str]:
        """The heading of a failure."""
        return self.path, None, f"asofbench: {self.name}"
