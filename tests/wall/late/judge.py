"""Late-poll invariance: answers of the lake as of T never depend on polls after T.

The sources of a history of edits are polled several times. The lake is queried as of each T twice: "then", when no
poll had been later than T, and "now", after all polls. Both answers are equal, gaps included, about every thing that
a poll at or before T had seen as a row or a gap. L is the last such poll. Two differences are allowed:

- *Late.* A thing that no poll until T had seen may appear with its source's date, and so may a gap about it, but not
  if a complete poll did not contain it and its date is not after that poll. These rows are only
  counted. If such a row supersedes another thing's row under the same key, the other row may disappear.
- *Claimed.* The first poll after L that saw the thing again found other content, dated by the source in (L, T]. The
  source's own clock proves that date, so the new row may be shown instead, but only at that date.

The lake is also queried now with `known_by=T`: these answers match the earlier ones without exception. A vector
never belongs to a later version of a text than the one shown. Rows are compared whole, except for the two columns
that count revisions, because these include late rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from pitlake.clock import AVAILABLE_AT
from pitlake.datasets import get
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from tests.tally import Tally
from tests.wall.late import graph, replays
from tests.wall.late.asking import GAPS, VECTORS, Answers, Held, Row, key, session_answers
from tests.wall.late.documents import LAST
from tests.wall.late.looks import History, Ledger, canonical, clock_at, lived
from tests.wall.late.sources import NAMES, SHOWN_BY, SHOWN_TWICE

MICROSECOND = timedelta(microseconds=1)
COMMITTED = timedelta(milliseconds=1)  # a poll's commits, a microsecond apart, are within this time after it
MOMENTS = 24  # per poll
ASKED = 12  # one in so many moments is also put to a session
REPLAYED = 24  # moments at which each lake filled from captures is compared
SEALED = 4  # one in so many sessions is sealed


@dataclass
class LateTally(Tally):
    """A tally that also counts the allowed differences by kind, and lists the documents behind the failures."""

    blamed: set[tuple[str, int]] = field(default_factory=set)


@dataclass
class Judge:
    """The judge of one history's answers."""

    history: History
    ledger: Ledger
    tally: LateTally = field(default_factory=LateTally)

    def compare(self, moment: datetime, then: Answers, now: Answers) -> None:
        """Compare all answers as of one instant."""
        excused: dict[str, list[Row]] = defaultdict(list)
        for question, inputs in now.items():
            response = then.get(question, [])  # a dataset may have been empty then
            self.tally.compared += 1
            self.tally.answered += bool(inputs)
            if question == VECTORS:
                wrong = [row for row in inputs if row["version"] > _version(row["title"])]
                self.blame(moment, question, "the vector of a later text", wrong)
            elif question == GAPS:
                self._gaps(moment, response, inputs, then)
            elif question.startswith("FROM "):
                self._rows(moment, question, response, inputs, excused)
                self._once(moment, question, inputs)
        for question in then:
            if not question.startswith(("FROM ", "SELECT ")) and then[question] != now[question]:
                name, _, ticker = question.partition(" ")
                if not any(_tells_of(row, ticker) for each in catalogue.get(name).reads for row in excused[each]):
                    self.blame(moment, question, "another answer", [{"ticker": ticker}])

    def exactly(self, moment: datetime, then: Answers, existing: Answers) -> None:
        """Check that answers with `known_by` are unchanged, without the allowed differences."""
        for question, expected in then.items():
            self.tally.compared += 1
            self.tally.answered += bool(expected)
            lost, extra = _differences(expected, existing.get(question, []))
            self.blame(moment, question, "known by then, and gone", lost)
            self.blame(moment, question, "not known by then", extra)
        for question in existing.keys() - then.keys():
            if question.startswith("FROM "):  # a dataset was empty then; its catalogue queries could not run
                self.blame(moment, question, "not known by then", existing[question])

    def _gaps(self, moment: datetime, expected: list[Row], inputs: list[Row], then: Answers) -> None:
        lost, extra = _differences(expected, inputs)
        self.blame(moment, GAPS, "a gap is gone", lost)
        if extra:
            existing = {(row["dataset"], row["locator"]) for row in expected}
            existing |= {
                (name, row["evidence"]) for name in graph.EXTRACTORS for row in then.get(f"FROM {name}_revisions", ())
            }
            seen = [row for row in extra if not self._late_gap(moment, row, existing)]
            self.tally.counts["late gap"] += len(extra) - len(seen)
            self.blame(moment, GAPS, "a gap about what was seen before", seen)

    def _late_gap(self, moment: datetime, row: Row, existing: set[tuple[str, str]]) -> bool:
        """Return whether a gap is about something unseen then: a node in the graph, or a thing elsewhere."""
        name = row["dataset"], row["locator"]
        if row["dataset"] in graph.EXTRACTORS:
            return name not in existing
        thing = self.ledger.located.get(name)
        polled = max((each.at for each in self.ledger.polls.get(row["dataset"], ()) if each.at <= moment), default=None)
        if polled and row[AVAILABLE_AT] <= polled:
            return False
        return thing is not None and self.ledger.last(row["dataset"], thing, moment) is None

    def _rows(
        self, moment: datetime, question: str, expected: list[Row], inputs: list[Row], excused: dict[str, list[Row]]
    ) -> None:
        dataset = question.removeprefix("FROM ").removesuffix("_revisions")
        lost, extra = _differences(expected, inputs)
        if not lost and not extra:
            return
        reasons = [(row, self._excuse(dataset, moment, row)) for row in extra]
        allowed = [row for row, reason in reasons if reason]
        self.tally.counts.update(f"{reason} row" for _, reason in reasons if reason)
        for row in (row for row, reason in reasons if not reason):
            last = self.ledger.last(dataset, NAMES[dataset](row), moment)
            seen = (
                f"as {'a row' if last.rows else 'a gap'} on {last.at:%Y-%m-%d %H:%M}" if last else "by no trace of it"
            )
            what = f"seen otherwise, {seen}"
            self.blame(moment, question, what, [row], dataset)
        shown_by = SHOWN_BY.get(dataset, NAMES[dataset])
        superseding = set() if question.endswith("_revisions") else {shown_by(row) for row in allowed}
        gone = [row for row in lost if shown_by(row) not in superseding]
        self.blame(moment, question, "gone", gone, dataset)
        excused[dataset] += [*allowed, *lost]

    def _once(self, moment: datetime, question: str, inputs: list[Row]) -> None:
        """Check that a view shows each thing once, however it was corrected."""
        dataset = question.removeprefix("FROM ")
        if dataset in NAMES and dataset not in SHOWN_TWICE:
            counts = Counter(map(NAMES[dataset], inputs))
            again = [row for row in inputs if counts[NAMES[dataset](row)] > 1]
            self.blame(moment, question, "shown twice", again, dataset)

    def _excuse(self, dataset: str, moment: datetime, row: Row) -> str:
        """Return why a row that was missing then may be present now; "" if it may not."""
        thing = NAMES[dataset](row)
        last = self.ledger.last(dataset, thing, moment)
        if last is None:
            polled = self.ledger.polled(dataset, row, moment)
            return "" if polled and row[AVAILABLE_AT] <= polled else "late"
        result = self.ledger.next(dataset, thing, moment)
        statement = row[AVAILABLE_AT], canonical(row[name] for name in get(dataset).content_columns)
        return "claimed" if result is not None and statement in result.rows and last.at < row[AVAILABLE_AT] else ""

    def blame(self, moment: datetime, question: str, what: str, rows: list[Row], dataset: str = "") -> None:
        """Count rows as mismatches."""
        for row in rows:
            display = {name: value for name, value in row.items() if value is not None}
            at = f"seed {self.history.seed}, as of {moment.isoformat()}"
            self.tally.failures.append(f"{at}: {question}: {what}: {display}")
            name = str(NAMES[dataset](row) if dataset else row)
            self.tally.blamed |= {
                (document.kind.name, document.number)
                for document in self.history.documents
                if str(document.number) in name
            }


def share(seed: int, folder: Path) -> LateTally:
    """Judge one history. After a failure, add the smallest history found to cause it."""
    tally = judged(lived(seed), folder / "whole")
    if tally.failures:
        least = lived(seed, frozenset(tally.blamed))
        again = judged(least, folder / "least")
        tally.failures += ["in this history:", *(least if again.failures else lived(seed)).story()]
    return tally


def judged(history: History, root: Path, asked_once_in: int = ASKED) -> LateTally:
    """Run a history below `root`, and compare answers then and now; at a sample of instants, also those of sessions."""
    question: list[tuple[datetime, Answers, str, Answers | None]] = []
    rng = Random(f"late/{history.seed}/moments")

    def then(lake: Lake, place: int) -> None:
        holdings = Held(lake)
        for moment in _moments(history, place, rng):
            isolation, answers = "", None
            if rng.randrange(asked_once_in) == 0:
                isolation = "in_process" if rng.randrange(SEALED) else "process"
                answers = session_answers(lake, moment, history, isolation)
            question.append((moment, holdings.answers(moment), isolation, answers))

    lake, ledger = history.run(root, then)
    judge, content = Judge(history, ledger), Held(lake)
    with clock_at(LAST + timedelta(days=365)):
        for moment, before, isolation, answers in question:
            after = content.answers(moment)
            judge.compare(moment, before, after)
            if answers is not None:
                again = session_answers(lake, moment, history, isolation)
                judge.compare(moment, answers, again)
                judge.exactly(moment, answers, session_answers(lake, moment, history, isolation, known_by=moment))
                for mine, theirs in ((before, answers), (after, again)):
                    _same_answers(mine, theirs)
    compare_replays(judge, content, root, sorted({moment for moment, *_ in question}), rng)
    return judge.tally


def compare_replays(judge: Judge, live: Held, root: Path, moments: list[datetime], rng: Random) -> None:
    """Compare the live lake with fresh lakes, filled from the captures of its polls in every way."""
    tally = judge.tally
    for way in replays.WAYS if judge.ledger.asked else ():
        replay = replays.replayed(
            judge.history, judge.ledger, way, root.with_name(f"{root.name}-{way.replace(' ', '-')}")
        )
        comparison = replays.Comparison(live, judge.ledger, replay, judge.blame, tally.counts)
        for moment in rng.sample(moments, min(REPLAYED, len(moments))):
            for answered in comparison.compare(moment):
                tally.compared, tally.answered = tally.compared + 1, tally.answered + answered
        for answered in comparison.refused():
            tally.compared, tally.answered = tally.compared + 1, tally.answered + answered


def _moments(history: History, place: int, rng: Random) -> Iterator[datetime]:
    """Yield instants at which this poll is the newest: its own, adjacent ones, those of events, and random ones."""
    here = history.looks[place].at + COMMITTED
    after = history.looks[place + 1].at if place + 1 < len(history.looks) else LAST + timedelta(days=30)
    yield from (here, here + MICROSECOND, after - MICROSECOND)
    happened = [event.at for document in history.documents for event in document.events if here <= event.at < after]
    for _ in range(MOMENTS - 3):
        event = rng.choice(happened) if happened and rng.random() < 0.6 else here + (after - here) * rng.random()
        yield min(max(here, event + rng.choice((-1, 0, 1)) * MICROSECOND), after - MICROSECOND)


def _same_answers(mine: Answers, theirs: Answers) -> None:
    """Check that this process computes the same answers as a session; otherwise the campaign itself is wrong."""
    for question, rows in mine.items():
        lost, extra = _differences(rows, theirs[question])
        assert not lost, (question, lost[:3], theirs[question][:1])
        assert not extra, (question, extra[:3])


def _differences(expected: list[Row], inputs: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return the rows that disappeared, and the rows that appeared."""
    if expected == inputs:
        return [], []
    before, after = Counter(map(key, expected)), Counter(map(key, inputs))
    lost = [row for row in expected if before[key(row)] > after[key(row)]]
    return lost, [row for row in inputs if after[key(row)] > before[key(row)]]


def _version(title: str | None) -> float:
    return float(title.rpartition(" v")[2]) if title else 0.0


def _tells_of(row: Row, ticker: str) -> bool:
    """Return whether a row may count in an answer about one company; rows about no company count in every answer."""
    return "series_id" in row or any(ticker in str(value) for value in row.values())
