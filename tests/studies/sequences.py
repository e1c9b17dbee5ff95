"""Random sequences of a study's actions, compared with a model of the rules and counts of studies.

The model shares no code with studies: it tracks instants and open holdouts, and computes statistics in plain Python.
"""

import math
import random
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from itertools import combinations
from pathlib import Path
from statistics import NormalDist, fmean, pvariance, stdev, variance
from typing import Any

from pitlake.errors import BadInput, PitlakeError
from pitlake.lake import Lake
from pitlake.session.session import Session
from pitlake.studies import Study, study
from pitlake.studies.holdouts import report
from tests.cli.conftest import CREATED, article
from tests.kit import publish
from tests.tally import Tally

SHARE, STEPS = 25, 18
FIRST = date(2024, 3, 4)
ACTIONS = ("connect", "advance", "ask", "ask", "log", "log", "seal", "enter", "leave", "crash", "another")


@dataclass
class Window:
    """A session with its state in the model."""

    session: Session
    owner: int
    at: datetime
    alive: bool = True


@dataclass
class Sequence:
    """A random sequence of actions on one study of a lake."""

    name: str
    lake: Path
    rng: random.Random
    handles: list[Study] = field(default_factory=list)
    blocks: dict[int, AbstractContextManager[Study]] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    before: int = 0
    inside: int = 0
    sealed: bool = False
    used: bool = False
    trials: list[tuple[str, tuple[float, ...], str | None, str, tuple[date, ...]]] = field(default_factory=list)
    abandoned: list[Any] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.first = FIRST + timedelta(days=self.rng.choice((0, 1, 30)))
        self.last = self.first + timedelta(days=self.rng.choice((0, 3, 40)))
        self.start = datetime(self.first.year, self.first.month, self.first.day, 5, tzinfo=timezone.utc)
        day = self.last + timedelta(days=1)
        clocks_changed = day > date(2024, 3, 10)
        self.end = datetime(day.year, day.month, day.day, 4 if clocks_changed else 5, tzinfo=timezone.utc)
        if self.first > date(2024, 3, 10):
            self.start -= timedelta(hours=1)
        self.another()

    def run(self) -> list[str]:
        prelude = self.rng.choice(((), ("log", "log", "seal", "enter"), ("connect", "log", "seal", "enter", "connect")))
        for action in (*prelude, *self.rng.choices(ACTIONS, k=STEPS)):
            getattr(self, action)()
        self.check_report()
        for window in self.windows:
            window.session.close()
        return [f"{self.name}: {failure}" for failure in self.failures]

    def instant(self) -> datetime:
        second = timedelta(seconds=1)
        choices = [self.start - timedelta(days=9), self.start - second, self.start, self.start + second]
        choices += [self.end - second, self.end, self.end + second, self.end + timedelta(days=90)]
        return self.rng.choice(choices)

    def owner(self) -> int:
        """Return the number of a handle, usually one whose holdout is open."""
        inside = list(self.blocks)
        return self.rng.choice(inside) if inside and self.rng.random() < 0.7 else self.rng.randrange(len(self.handles))

    def expect(self, allowed: bool, done: bool, what: str) -> None:
        if allowed != done:
            self.failures.append(f"{what} was {'allowed' if done else 'refused'}")

    def may_see(self, owner: int, at: datetime) -> bool:
        return at < self.start or (at <= self.end and owner in self.blocks)

    def another(self) -> None:
        self.handles.append(study(self.name, holdout=(self.first, self.last), lake=self.lake))

    def connect(self) -> None:
        owner, at = self.owner(), self.instant()
        try:
            session = self.handles[owner].connect(at, datasets=["news"])
            self.windows.append(Window(session, owner, at))
        except BadInput:
            session = None
        self.expect(self.may_see(owner, at), session is not None, f"connect as of {at}")

    def advance(self) -> None:
        if not self.windows:
            return
        window, at = self.rng.choice(self.windows), self.instant()
        try:
            window.session.advance(at)
            done = True
        except PitlakeError:
            done = False
        self.expect(window.alive and at >= window.at and self.may_see(window.owner, at), done, f"advance to {at}")
        if done:
            window.at = at

    def ask(self) -> None:
        if not self.windows:
            return
        window = self.rng.choice(self.windows)
        try:
            window.session.sql("SELECT count(*) FROM news")
            done = True
        except PitlakeError:
            done = False
        self.expect(window.alive, done, f"a question as of {window.at}")
        if done and window.at >= self.start:
            self.inside += 1
        elif done:
            self.before += 1

    def seal(self) -> None:
        try:
            self.rng.choice(self.handles).seal("one look")
            done = True
        except BadInput:
            done = False
        self.expect(not self.sealed, done, "a plan")
        self.sealed = True

    def enter(self) -> None:
        owner = self.rng.randrange(len(self.handles))
        block = self.handles[owner].holdout()
        try:
            block.__enter__()
            done = True
        except BadInput:
            done = False
        self.expect(self.sealed and not self.used, done, "the holdout")
        if done:
            self.used = True
            self.blocks[owner] = block

    def leave(self) -> None:
        for owner, block in list(self.blocks.items()):
            if self.rng.random() < 0.5:
                self.handles[owner].__exit__()
                self.abandoned.append(block)
            else:
                block.__exit__(None, None, None)
            self.close(owner, self.start)

    def crash(self) -> None:
        """Simulate a crash: the blocks are not left, the sessions end, and no record is written."""
        owner = self.rng.randrange(len(self.handles))
        self.abandoned += [self.handles[owner], self.blocks.get(owner)]
        self.close(owner, None)
        for window in self.windows:
            if window.owner == owner:
                window.session.close()
        self.handles[owner] = study(self.name, holdout=(self.first, self.last), lake=self.lake)

    def close(self, owner: int, since: datetime | None) -> None:
        self.blocks.pop(owner, None)
        for window in self.windows:
            if window.owner == owner and (since is None or window.at >= since):
                window.alive = False

    def log(self) -> None:
        owner = self.owner()
        name = self.rng.choice("abc")
        values = tuple(round(self.rng.gauss(0.001, 0.02), 6) for _ in range(self.rng.choice((6, 6, 9))))
        if self.trials and self.rng.random() < 0.2:
            name, values, *_ = self.rng.choice(self.trials)
        step = self.rng.choice((None, None, 1, 7))
        dates: tuple[date, ...] = ()
        if step is not None:
            begin = self.rng.choice((self.first - timedelta(days=70), self.first - timedelta(days=4), self.first))
            dates = tuple(begin + timedelta(days=step * number) for number in range(len(values)))
        in_holdout = owner in self.blocks if not dates else dates[-1] >= self.first
        allowed = not dates or dates[-1] < self.first or (
            owner in self.blocks and dates[0] >= self.first and dates[-1] <= self.last
        )  # fmt: skip
        statement = self.rng.choice((None, "month")) if step is None else None
        try:
            inputs = list(values) if step is None else dict(zip(dates, values, strict=True))
            self.handles[owner].log_trial(name, inputs, frequency=statement)
            done = True
        except BadInput:
            done = False
        self.expect(allowed, done, f"returns of {dates[:1]} to {dates[-1:]}")
        part = "holdout" if in_holdout else "after the seal" if self.sealed else "in sample"
        frequency = statement if step is None else {1: "day", 7: "week"}[step]
        same = {(each[0], each[1], each[2], each[4], each[3] == "holdout") for each in self.trials}
        if done and (name, values, frequency, dates, in_holdout) not in same:
            self.trials.append((name, values, frequency, part, dates))

    def check_report(self) -> None:
        facts = report(self.name, self.lake).to_dict()
        if (facts["questions"], facts["questions_in_holdout"]) != (self.before, self.inside):
            counted = f"{facts['questions']} and {facts['questions_in_holdout']}"
            self.failures.append(f"{counted} questions, not {self.before} and {self.inside}")
        rows = [(row["trial"].partition(". ")[2], row["part"], row["frequency"]) for row in facts["trials"]]
        if rows != [(name, part, frequency) for name, _, frequency, part, _ in self.trials]:
            self.failures.append(f"trials {rows}, not {self.trials}")
            return
        for row, (_, values, *_) in zip(facts["trials"], self.trials, strict=True):
            if not math.isclose(row["sharpe_ratio"], fmean(values) / stdev(values), rel_tol=1e-9):
                self.failures.append(f"{row} of {values}")
        for comparison in facts["comparisons"]:
            chosen = [
                (number, values, dates)
                for number, (_, values, frequency, part, dates) in enumerate(self.trials)
                if part == "in sample" and frequency == comparison["frequency"]
            ]
            self.check_comparison(comparison, chosen)
        compared = sum(each["trials"] for each in facts["comparisons"])
        if compared != sum(part == "in sample" for _, _, _, part, _ in self.trials):
            self.failures.append(f"{compared} trials were compared")

    def check_comparison(self, comparison: dict[str, Any], chosen: list[tuple[int, tuple[float, ...], Any]]) -> None:
        ratios = [fmean(values) / stdev(values) for _, values, _ in chosen]
        best = max(range(len(ratios)), key=ratios.__getitem__)
        periods = {dates or len(values) for _, values, dates in chosen}
        overfitting = below_median([values for _, values, _ in chosen]) if len(chosen) > 1 == len(periods) else None
        expected = (chosen[best][0] + 1, deflated([values for _, values, _ in chosen], ratios, best), overfitting)
        figures = (comparison["deflated_sharpe_ratio"], comparison["probability_of_overfitting"])
        close = all(a == b or (None not in (a, b) and math.isclose(a, b, abs_tol=1e-9))
                    for a, b in zip(figures, expected[1:], strict=True))  # fmt: skip
        if not close or not comparison["best_trial"].startswith(f"{expected[0]}. "):
            self.failures.append(f"{comparison}, not {expected}")


def deflated(trials: list[tuple[float, ...]], ratios: list[float], best: int) -> float:
    """Return the deflated Sharpe ratio by Bailey and Lopez de Prado (2014), equations 1 and 2."""
    normal, count, values = NormalDist(), len(trials), trials[best]
    luck = 0.0
    if count > 1:
        euler = 0.577215664901532860606512
        quantiles = normal.inv_cdf(1 - 1 / count), normal.inv_cdf(1 - 1 / (count * math.e))
        luck = math.sqrt(variance(ratios)) * ((1 - euler) * quantiles[0] + euler * quantiles[1])
    mean, spread = fmean(values), math.sqrt(pvariance(values))
    third, fourth = (fmean(((value - mean) / spread) ** power for value in values) for power in (3, 4))
    error = math.sqrt(1 - third * ratios[best] + (fourth - 1) / 4 * ratios[best] ** 2)
    return normal.cdf((ratios[best] - luck) * math.sqrt(len(values) - 1) / error)


def below_median(trials: list[tuple[float, ...]]) -> float:
    """Return the probability of overfitting by Bailey, Borwein, Lopez de Prado and Zhu (2017)."""
    periods = len(trials[0])
    blocks = max(2, min(16, periods // 2) // 2 * 2)
    sizes = [periods // blocks + (number < periods % blocks) for number in range(blocks)]
    edges = [sum(sizes[:number]) for number in range(blocks + 1)]

    def ratio(values: tuple[float, ...], chosen: tuple[int, ...]) -> float:
        part = [value for block in chosen for value in values[edges[block] : edges[block + 1]]]
        return fmean(part) / stdev(part)

    lost, halves = 0, list(combinations(range(blocks), blocks // 2))
    for half in halves:
        rest = tuple(block for block in range(blocks) if block not in half)
        inside = [ratio(values, half) for values in trials]
        outside = [ratio(values, rest) for values in trials]
        winner = outside[inside.index(max(inside))]
        rank = 1 + sum(other < winner for other in outside) + (outside.count(winner) - 1) / 2
        lost += rank / (len(trials) + 1) <= 0.5
    return lost / len(halves)


def share(seed: int, folder: Path) -> Tally:
    """Run sequences on one lake."""
    lake, tally = Lake(folder / "lake"), Tally(SHARE)
    publish(lake, "news", [article(1, "Draft", CREATED), article(2, "Other", CREATED)], "first", (), CREATED)
    for number in range(seed * SHARE, (seed + 1) * SHARE):
        tally.failures += Sequence(f"s{number}", lake.root, random.Random(number)).run()
    return tally
