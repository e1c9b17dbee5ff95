"""Resolves callers' tickers to companies, in the parent and before any session runs the question.

A ticker belongs to the company whose newest public statement contains it, otherwise to the last company that had it
before. Later statements and rows are used only if hindsight is allowed, and the answer says so.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from pitlake.clock import from_micros, iso, micros, new_york_day
from pitlake.datasets.names import EDGAR_TICKERS
from pitlake.lake.storage.manifest import Snapshot

CURRENT = timedelta(days=1)
"""How long a statement proves that the company still has the ticker: as long as an answer stays current."""
_FOREVER = 2**63 - 1
_PLAIN = re.compile(r"[A-Z0-9.-]{1,12}")
_CIK = re.compile(r"\d{10}", re.ASCII)
_SEPARATORS = re.compile(r"[-/ ]")
_NAMES = """
    SELECT cik, epoch_us(available_at) AS at, source, statement,
        list_transform(all_names, lambda x: upper(x)) AS tickers
    FROM {rows} WHERE kind = 'ticker' AND regexp_full_match(cik, '[0-9]{{10}}')"""
_COMPANIES = """
    SELECT cik, epoch_us(available_at) AS at, 'companies' AS source, '' AS statement, [upper(ticker)] AS tickers
    FROM {rows} WHERE regexp_full_match(cik, '[0-9]{{10}}')"""
_LABELS = {
    "prices": "SELECT entity_kind, entity_id, symbol AS ticker, available_at FROM {rows}",
    "reports": "SELECT 'company', cik, ticker, available_at FROM {rows} WHERE role = 'primary_filer'",
}
_LABELLED = """
    SELECT entity_kind, entity_id, epoch_us(max(available_at))
    FROM ({label}) AS rows(entity_kind, entity_id, ticker, available_at)
    WHERE list_contains($tickers::VARCHAR[], upper(ticker))
        AND (entity_kind <> 'company' OR regexp_full_match(entity_id, '[0-9]{{10}}')) AND entity_id IS NOT NULL
    GROUP BY ALL"""

Claim = tuple[datetime, str]  # the start of the assignment, and the CIK


@dataclass(frozen=True)
class Company:
    """The company of a ticker at an instant.

    company: the company in the form that sql/macros/company.sql reads. ciks: empty if no company with the ticker is
    known. notes: shown to the caller, in words that the gate allows. label_notes: more notes if rows are found by
    the tickers that their sources write into them.
    """

    company: str
    ciks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    label_notes: tuple[str, ...] = ()

    def notes_on(self, *, labels: bool) -> tuple[str, ...]:
        """Return the notes of an answer. labels: whether its rows may be found by their tickers."""
        return (*self.notes, *self.label_notes) if labels else self.notes


class Tickers:
    """The statements about tickers in one lake version. until: without hindsight, only those public at that time."""

    def __init__(self, snapshot: Snapshot, until: datetime | None = None) -> None:
        self._snapshot, self._hindsight = snapshot, until is None
        statements = []
        for dataset, question in (("names", _NAMES), ("companies", _COMPANIES)):
            statements += _rows(snapshot, dataset, question, until)
        self._statements: dict[str, list[tuple[datetime, tuple[str, ...]]]] = defaultdict(list)
        sources: dict[str, set[str]] = defaultdict(set)
        for cik, _, source, _, _ in statements:
            sources[cik].add(source)
        self._listed = {cik for cik, kinds in sources.items() if kinds == {EDGAR_TICKERS}}
        for cik, at, _, _, tickers in sorted(statements, key=lambda statement: statement[:4]):
            self._statements[cik].append((from_micros(at), tuple(tickers)))

    def resolve(self, ticker: str, as_of: datetime | None) -> Company:
        """Return the company that had a ticker at an instant (None: now), otherwise the last company that had it
        before.

        With hindsight, if no company had the ticker before, return one that had it later. Rows are then also found by
        the later tickers that their sources write into them. A CIK of ten digits also identifies a company, which may
        have no ticker yet.
        """
        hindsight = self._hindsight
        spelling = spelled(ticker)
        name_in_notes = ticker.upper() if _PLAIN.fullmatch(ticker.upper()) else "TICKER"
        is_cik = _CIK.fullmatch(spelling) is not None
        ciks = (spelling,) if is_cik else self._bearers(spelling, as_of) or _last(self._claims(spelling, as_of))
        notes: tuple[str, ...] = ()
        if not ciks:
            # The graph's rows with the ticker that were public by the instant, by kind.
            labelled: dict[str, list[Claim]] = defaultdict(list)
            for dataset, label in _LABELS.items():
                question, names = _LABELLED.replace("{label}", label), _spellings(spelling)
                for kind, entity_id, newest in _rows(self._snapshot, dataset, question, as_of, tickers=names):
                    labelled[kind].append((from_micros(newest), entity_id))
            later = (self._bearers(spelling, None) or _last(self._claims(spelling, None))) if hindsight else ()
            ciks = later or (_last(labelled.get("company", [])) if hindsight else ())
            if not ciks:
                return self._unknown(name_in_notes, spelling, as_of, funds=set(labelled) - {"company"})
            others = sorted({cik for _, cik in self._claims(spelling, None)}.difference(ciks))
            by_list = "ticker by today's list, " if self._listed.issuperset(ciks) else ""
            read = f"{name_in_notes}: {by_list}read as CIK {', '.join(ciks)}, with hindsight"
            notes = (f"{read}; not {', '.join(others)}" if others else read,) if as_of else ()
        labels = dict(self._labels(ciks, None if self._hindsight else as_of))
        labels = labels or ({} if is_cik else {spelling: ""})
        later_labels = sorted(set(labels).difference(self._borne_by(ciks, as_of), {spelling}))
        read = f"rows of CIK {', '.join(ciks)} that bear {', '.join(later_labels)} are read with hindsight"
        parts = [*ciks, *(f"{name}{span}" for label, span in labels.items() for name in _spellings(label))]
        label_notes = [f"{name_in_notes}: {read}"] if later_labels and not notes else []
        label_notes += [f"{name_in_notes}: {unproven}" for unproven in self._unproven(ciks, as_of)]
        return Company(" ".join(parts), ciks, notes, tuple(label_notes))

    def of(self, cik: str, at: datetime) -> tuple[str, ...]:
        """Return the tickers of a company at an instant, or its first later tickers if it had none."""
        statements = self._statements.get(cik, [])
        public = [tickers for since, tickers in statements if since <= at]
        if public:
            return public[-1]
        return statements[0][1] if statements else ()

    def eras(self, cik: str) -> Iterator[tuple[date, date, frozenset[str]]]:
        """Yield the first and last day of each statement about a company's tickers, and the tickers, as `spelled`."""
        statements = self._statements.get(cik, [])
        for number, (since, tickers) in enumerate(statements):
            following = [new_york_day(at) - timedelta(days=1) for at, _ in statements[number + 1 : number + 2]]
            yield new_york_day(since), following[0] if following else date.max, frozenset(map(spelled, tickers))

    def every(self, cik: str) -> frozenset[str]:
        """Return all tickers of a company, past and present, as `spelled`."""
        return frozenset(self._borne_by({cik}, None))

    def _unknown(self, label: str, spelling: str, as_of: datetime | None, funds: Collection[str]) -> Company:
        names = _spellings(spelling)
        company = " ".join(names if self._hindsight else (f"fund:{name}" for name in names))
        if funds:
            return Company(company)
        note = f"{label}: no company is known by it" + (f" as of {iso(as_of)}" if as_of else "")
        read = f"{label}: rows that bear it are read with hindsight"
        return Company(company, notes=(note,), label_notes=(read,) if self._hindsight and as_of else ())

    def _public(self, as_of: datetime | None) -> Iterator[tuple[str, list[tuple[datetime, tuple[str, ...]]]]]:
        for cik, statements in self._statements.items():
            public = [statement for statement in statements if as_of is None or statement[0] <= as_of]
            if public:
                yield cik, public

    def _bearers(self, ticker: str, as_of: datetime | None) -> tuple[str, ...]:
        """Return the companies whose newest statement by an instant has the ticker; of several, the latest."""
        newest = [(cik, statements[-1]) for cik, statements in self._public(as_of)]
        return _last([(at, cik) for cik, (at, tickers) in newest if ticker in map(spelled, tickers)])

    def _claims(self, ticker: str, as_of: datetime | None) -> list[Claim]:
        """Return every statement, public by an instant, that assigns the ticker to a company."""
        return [
            (at, cik)
            for cik, statements in self._public(as_of)
            for at, tickers in statements
            if ticker in map(spelled, tickers)
        ]

    def _borne_by(self, ciks: Collection[str], as_of: datetime | None) -> set[str]:
        public = [statements for cik, statements in self._public(as_of) if cik in ciks]
        return {spelled(ticker) for statements in public for _, tickers in statements for ticker in tickers}

    def _labels(self, ciks: Collection[str], as_of: datetime | None) -> Iterator[tuple[str, str]]:
        """Yield the tickers of companies, each with the time in which no other company had it."""
        for ticker in sorted(filter(_PLAIN.fullmatch, self._borne_by(ciks, as_of))):
            claims = sorted(self._claims(ticker, as_of))
            since = next(at for at, cik in claims if cik in ciks)
            before = any(cik not in ciks for at, cik in claims if at < since)
            until = next((at for at, cik in claims if cik not in ciks and at >= since), None)
            span = f"@{iso(since) if before else '..'}/{iso(until) if until else '..'}"
            yield ticker, span if before or until else ""

    def _unproven(self, ciks: Collection[str], as_of: datetime | None) -> Iterator[str]:
        """Yield a note per ticker that the companies are not proven to have after its last statement. Their next
        statement does not repeat it, or another company has it first.
        """
        for ticker in sorted(filter(_PLAIN.fullmatch, self._borne_by(ciks, as_of))):
            claims = self._claims(ticker, None)
            last = max(at for at, cik in claims if cik in ciks and (as_of is None or at <= as_of))
            own = (statement for cik in ciks for statement in self._statements.get(cik, ()) if statement[0] > last)
            following = min(own, default=None)
            taken = min((at for at, cik in claims if cik not in ciks and at > last), default=None)
            repeated = following is not None and ticker in map(spelled, following[1])
            repeated &= taken is None or following is None or following[0] < taken
            end = min(filter(None, (as_of, taken)), default=last)
            if end - last > CURRENT and not repeated:
                days = (end - last).days
                yield f"rows that bear {ticker} after {iso(last)}, stated {days} days before, are read with hindsight"


def _rows(
    snapshot: Snapshot, dataset: str, question: str, until: datetime | None, **values: object
) -> list[tuple[Any, ...]]:
    """Answer a question about the rows that were public by an instant.

    It reads only files with such rows, so later files have no effect.
    """
    files = [file for file in snapshot.files(dataset) if until is None or file.lo <= until]
    if not files:
        return []
    from pitlake.lake.tables.query import calculator, reading

    snapshot.fetch(files)
    rows = f"(FROM {reading(files)} WHERE epoch_us(available_at) <= {_FOREVER if until is None else micros(until)})"
    with calculator() as connection:
        return connection.execute(question.format(rows=rows), values).fetchall()


def spelled(ticker: str) -> str:
    """Return a ticker in one form: EDGAR writes a share class after a hyphen, other sources after a dot."""
    return _SEPARATORS.sub(".", ticker.strip().upper())


def _spellings(ticker: str) -> list[str]:
    """Return the forms that rows may have for a result of `spelled`."""
    return sorted({ticker, ticker.replace(".", "-")})


def _last(claims: list[Claim]) -> tuple[str, ...]:
    newest = max((at for at, _ in claims), default=None)
    return tuple(sorted({cik for at, cik in claims if at == newest}))
