"""An independent, slow computation of line items over EDGAR's company facts, with lists and loops, one instant at a
time. It shares only the mapping of items to concepts with the lake's SQL.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

PERIODIC = re.compile(r"(10-KT?|10-QT?|20-F|40-F)(/A)?")
A_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Figure:
    """A line item of a period, with the accession numbers of its facts."""

    item: str
    kind: str
    unit: str
    start: date | None
    end: date
    value: float
    public: datetime
    filings: tuple[str, ...]
    scales: tuple[float | None, ...] = (None,)
    leads: bool = True
    former: "Figure | None" = None
    restated: datetime | None = None
    is_former: bool = False
    rounding: float | None = None
    concepts: frozenset[str] = frozenset()
    is_mixed: bool = False

    @property
    def months(self) -> int | None:
        return months(self.start, self.end) if self.start else None


@dataclass(frozen=True)
class Statement:
    figure: Figure
    place: int
    form: str
    accession: str


def months(start: date, end: date) -> int:
    """Return the number of months of a period; weeks count as the quarters that they form."""
    after = end + A_DAY
    whole = 12 * (after.year - start.year) + after.month - start.month
    if start.day == after.day and whole > 0:
        return whole
    weeks = ((end - start).days + 1) / 7
    for count, low, high in ((3, 10.8, 18.1), (6, 22.8, 29.5), (9, 35.4, 41.8), (12, 50.7, 54.3)):
        if low <= weeks <= high:
            return count
    return round(((end - start).days + 1) / 30.4375)


class Oracle:
    """A company's line items as known at any instant, computed from a response of companyfacts."""

    def __init__(
        self,
        answer: Mapping[str, Any],
        concepts: Iterable[tuple[str, str, str, int]],
        sums: Iterable[tuple[str, str, int, str, int, bool]],
        parts: Iterable[tuple[str, str, bool]] = (),
    ) -> None:
        self.sums = list(sums)
        self.statements = list(_with_former(list(_statements(answer, list(concepts), list(parts)))))

    def known(self, at: datetime) -> list[Figure]:
        """Return every item and period in its last statement by `at`, and the sums."""
        periods = defaultdict(list)
        for statement, rank in _ranked([statement for statement in self.statements if statement.figure.public <= at]):
            figure = statement.figure
            periods[figure.item, figure.months, figure.end].append((rank, statement))
        figures = [max(ranked, key=lambda each: each[0])[1].figure for ranked in periods.values()]
        return figures + list(self._summed(figures))

    def _summed(self, figures: list[Figure]) -> Iterator[Figure]:
        by_period = {(figure.item, figure.months, figure.end, figure.unit): figure for figure in figures}
        spans = {key[1:] for key in by_period}
        statement = {key[:3] for key in by_period}
        for item in dict.fromkeys(row[0] for row in self.sums):
            places = sorted({row[2] for row in self.sums if row[0] == item})
            for length, end in {span[:2] for span in spans}:
                if (item, length, end) in statement:
                    continue
                for place in places:
                    terms = [row for row in self.sums if row[0] == item and row[2] == place]
                    units = sorted(span[2] for span in spans if span[:2] == (length, end))
                    outcome = [sum_of(terms, by_period, (length, end, unit)) for unit in units]
                    if result := next(filter(None, outcome), None):
                        yield result
                        break

    def periods(self, at: datetime) -> dict[tuple[str, str, date], Figure]:
        """Return the known quarters, years, trailing twelve months and balances by item, span and last day."""
        return periods(self.known(at))

    def newest(self, at: datetime) -> dict[tuple[str, str], Figure]:
        """Return the newest figure of each item and span, unless it is too old."""
        existing = self.known(at)
        if not existing:
            return {}
        company_end = max(statement.figure.end for statement in self.statements if statement.figure.public <= at)
        existing = [each for each in existing if (company_end - each.end).days <= 900]
        item_end: dict[str, date] = {}
        for each in existing:
            if each.months in (None, 3, 6, 9, 12):
                item_end[each.item] = max(each.end, item_end.get(each.item, each.end))
        result: dict[tuple[str, str], Figure] = {}
        for (item, span, end), figure in sorted(periods(existing).items(), key=lambda each: each[0][2]):
            late = (item_end[item] - end).days > (380 if span == "year" else 20)
            result.pop((item, span), None)
            if not late and (company_end - end).days <= 460:
                result[item, span] = figure
        return result


def periods(existing: list[Figure]) -> dict[tuple[str, str, date], Figure]:
    """Return the quarters, years, trailing twelve months and balances computed from known figures."""
    result = {}
    for each in existing:
        if each.start is None:
            result[each.item, "balance", each.end] = each
        elif each.kind == "average" and each.months in (3, 12):
            result[each.item, "quarter" if each.months == 3 else "year", each.end] = each
    for item in {each.item for each in existing if each.kind in ("flow", "per_share")}:
        mine = [each for each in existing if each.item == item and each.months in (3, 6, 9, 12)]
        years = {each.end: each for each in mine if each.months == 12}
        quarters = _quarters(mine)
        result |= {(item, "quarter", quarter.end): quarter for quarter in quarters}
        result |= {(item, "year", end): each for end, each in years.items()}
        bridges, fours = list(_bridges(mine)), list(_fours(quarters))
        former, bridges = (
            [bridge for bridge in bridges if bridge.is_former],
            [bridge for bridge in bridges if not bridge.is_former],
        )
        twelves = former + (bridges + fours if mine[:1] and mine[0].kind == "per_share" else fours + bridges)
        twelves += years.values()
        twelves.sort(key=lambda each: each.leads)
        result |= {(item, "ttm", each.end): each for each in twelves}
    return result


def _statements(
    answer: Mapping[str, Any], concepts: list[tuple[str, str, str, int]], parts: list[tuple[str, str, bool]]
) -> Iterator[Statement]:
    filings: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    names = {name for _, _, name, _ in concepts}
    for taxonomy, statement in answer["facts"].items():
        for name, concept in statement.items():
            for unit, listing in concept["units"].items():
                for fact in listing:
                    start = date.fromisoformat(fact["start"]) if fact.get("start") else None
                    end, filed = date.fromisoformat(fact["end"]), date.fromisoformat(fact["filed"])
                    if f"{taxonomy}:{name}" in names and "14A" not in fact["form"] and end <= filed:
                        filings[fact["accn"]].append((f"{taxonomy}:{name}", unit, start, end, fact))
    for facts in filings.values():
        yield from _of_filing(facts, concepts, parts)


def _of_filing(
    facts: list[tuple[Any, ...]], concepts: list[tuple[str, str, str, int]], parts: list[tuple[str, str, bool]]
) -> Iterator[Statement]:
    rows = [
        (item, kind, place, *fact)
        for item, kind, name, place in concepts
        for fact in facts
        if fact[0] == name and (fact[2] is None) == (kind == "balance")
    ]
    rows = [row for row in rows if not _is_part(row, rows, parts)]
    money = Counter(row[4] for row in rows if row[1] in ("flow", "balance") and len(row[4]) == 3)
    most = min(money, key=lambda code: (-money[code], code), default="")
    rows = [row for row in rows if not (most and re.match("[A-Z]{3}(/|$)", row[4]) and not row[4].startswith(most))]
    amounts = [fact["val"] for _, kind, _, _, unit, *_, fact in rows if _is_money(kind, unit) and fact["val"]]
    stated_in = max(
        (size for size in (1, 10**3, 10**5, 10**6) if not any(amount % size for amount in amounts)), default=1
    )
    for item, kind, place, name, unit, start, end, fact in rows:
        if kind == "balance" and any(row[0] == item and row[2] < place and row[6] >= end for row in rows):
            continue
        newest = [row for row in rows if row[0] == item and row[6] == max(r[6] for r in rows if r[0] == item)]
        longest = max(months(row[5], row[6]) if row[5] else 0 for row in newest)
        lead = min(row[2] for row in newest if not row[5] or months(row[5], row[6]) == longest)
        public = datetime.fromisoformat(fact["filed"] + "T22:00:00+00:00")
        scale = _shares_of(rows, start, end, float(fact["val"])) if kind == "per_share" else None
        rounding = float(stated_in if amounts else 1) if _is_money(kind, unit) else None
        figure = Figure(
            item, kind, unit, start, end, float(fact["val"]), public, (fact["accn"],), (scale,), place == lead,
            rounding=rounding, concepts=frozenset({name}),
        )  # fmt: skip
        yield Statement(figure, place, fact["form"], fact["accn"])


def _is_money(kind: str, unit: str) -> bool:
    return kind in ("flow", "balance") and len(unit) == len("USD")


def _is_part(row: tuple[Any, ...], rows: list[tuple[Any, ...]], parts: list[tuple[str, str, bool]]) -> bool:
    """Return whether a row's concept covers only a part of its item, judged by the filing's other facts."""
    for concept, beside, if_less in parts:
        others = [other for other in rows if row[3] == concept and other[0] == beside]
        if if_less:
            others = [other for other in others if other[5:7] == row[5:7] and other[7]["val"] > row[7]["val"]]
        if others:
            return True
    return False


def _shares_of(rows: list[tuple[Any, ...]], start: date, end: date, value: float) -> float | None:
    """Return the shares behind a per-share figure: the period's average, else the latest, else from net income."""
    weighted = [(row[6], row[5], float(row[7]["val"])) for row in rows if row[1] == "average"]
    if own := [shares for last, first, shares in weighted if (first, last) == (start, end)]:
        return max(own)
    if weighted:
        return max(weighted)[2]
    earned = [(row[2], row[7]["val"]) for row in rows if row[0] == "net_income" and row[5:7] == (start, end)]
    return min(earned)[1] / value if earned and value else None


def _ranked(statements: list[Statement]) -> Iterator[tuple[Statement, tuple[Any, ...]]]:
    for item in statements:
        periodic = bool(PERIODIC.fullmatch(item.form))
        yield item, (periodic, item.figure.leads, item.figure.public, item.accession, -item.place)


def _with_former(statements: list[Statement]) -> Iterator[Statement]:
    """Yield each statement with the figure before the last restatement by similar filings, and the restatement time."""
    alike: dict[Any, list[tuple[Any, Statement]]] = defaultdict(list)
    for each, rank in _ranked(statements):
        figure = each.figure
        alike[figure.item, figure.months, figure.end, figure.unit, rank[0], figure.leads].append((rank, each))
    for listing in alike.values():
        former, restated, previous = None, None, None
        for _, each in sorted(listing, key=lambda pair: (pair[1].figure.public, pair[0])):
            figure = each.figure
            if previous and _differ(figure, previous):
                former, restated = previous, figure.public
            previous = figure
            yield replace(each, figure=replace(figure, former=former, restated=restated))


def _differ(item: Figure, other: Figure) -> bool:
    """Return whether two statements differ by more than rounding."""
    if item.rounding is None or other.rounding is None:
        return abs(item.value - other.value) > 0.001 * max(abs(item.value), abs(other.value))
    return abs(item.value - other.value) > max(item.rounding, other.rounding) / 2


def _fits(item: Figure, other: Figure) -> bool:
    """Return whether neither figure was restated after the other, or both were restated at about the same time."""
    for first, second in ((item, other), (other, item)):
        if first.restated is None or first.restated <= second.public:
            continue
        if first.former is None or second.former is None or second.restated is None:
            return False
        if not (second.restated > first.former.public and first.restated > second.former.public):
            return False
    return True


def _wholes(figures: list[Figure]) -> Iterator[Figure]:
    """Yield figures, each followed by its value before the restatement."""
    for item in figures:
        yield item
        if item.former:
            yield replace(item.former, former=None, restated=None, is_former=True)


def sum_of(
    terms: list[tuple[str, str, int, str, int, bool]], by_period: Mapping[Any, Figure], key: tuple[Any, ...]
) -> Figure | None:
    """Return the sum of the terms of one period, or None if a required term is missing."""
    parts: list[Figure] = []
    before: list[Figure] = []
    extra = set()
    for item, kind, _, term, factor, needed in sorted(terms, key=lambda each: each[3]):
        part = by_period.get((term, *key))
        if part is None and needed:
            return None
        if part is not None and (needed or part.value not in extra):
            parts.append(replace(part, item=item, kind=kind, value=factor * part.value))
            former = part.former or part
            before.append(replace(former, item=item, kind=kind, value=factor * former.value))
        if part is not None and not needed:
            extra.add(part.value)
    start = parts[0].start and min(part.start for part in parts if part.start)
    whole = _joined(parts, start)
    return replace(whole, former=_joined(before, start)) if whole.restated else whole


def _joined(parts: list[Figure], start: date | None) -> Figure:
    newest = max(parts, key=lambda each: each.end)
    return replace(
        newest,
        start=start,
        value=sum(part.value for part in parts),
        public=max(part.public for part in parts),
        filings=tuple(filing for part in parts for filing in part.filings),
        scales=tuple(scale for part in parts for scale in part.scales),
        leads=all(part.leads for part in parts),
        former=None,
        restated=max((part.restated for part in parts if part.restated), default=None),
        is_former=any(part.is_former for part in parts),
        rounding=sum(part.rounding or 0.0 for part in parts),
        concepts=frozenset().union(*(part.concepts for part in parts)),
    )


def _fit(parts: list[Figure], apart: float = 1.24) -> bool:
    """Return whether figures have the same unit and, if per share, about the same number of shares."""
    scales = [scale for part in parts for scale in part.scales]
    if len({part.unit for part in parts}) > 1:
        return False
    if parts[0].kind != "per_share":
        return True
    return None not in scales and min(scales) > 0 and max(scales) < apart * min(scales)  # type: ignore[type-var, operator]


def _near(item: date | None, other: date | None, days: int = 7) -> bool:
    return item is not None and other is not None and abs((item - other).days) <= days


def _quarters(figures: list[Figure]) -> list[Figure]:
    differences: dict[date, tuple[Any, Figure]] = {}
    for whole in _wholes(figures):
        for part in figures:
            if not _fits(whole, part):
                continue
            if part.months == whole.months - 3 and _near(part.start, whole.start) and _fit([whole, part], 1.06):  # type: ignore[operator]
                start = part.end + A_DAY
                if start <= whole.end and months(start, whole.end) == 3:
                    rest = replace(_joined([whole, replace(part, value=-part.value)], start), end=whole.end)
                    rest = replace(rest, is_mixed=whole.concepts != part.concepts)
                    rank = (rest.leads, not whole.is_former, whole.months, part.end)
                    if whole.end not in differences or rank > differences[whole.end][0]:
                        differences[whole.end] = (rank, rest)
    candidates = [(True, figure) for figure in figures if figure.months == 3]
    candidates += [(False, each) for _, each in differences.values()]
    candidates.sort(key=lambda each: each[1].end)
    groups: list[list[tuple[bool, Figure]]] = []
    for item in candidates:
        if groups and (item[1].end - groups[-1][-1][1].end).days <= 20:
            groups[-1].append(item)
        else:
            groups.append([item])
    return [max(group, key=lambda each: _precedence(*each, group))[1] for group in groups]


def _precedence(is_stated: bool, item: Figure, group: list[tuple[bool, Figure]]) -> tuple[Any, ...]:
    """Return the rank of a quarter: a stated one precedes a difference that agrees with it or mixes two concepts."""
    statement = (
        [] if is_stated else [other for other_is_stated, other in group if other_is_stated and other.unit == item.unit]
    )
    gives_way = any(
        item.is_mixed
        or (item.kind == "flow" and abs(item.value - other.value) <= ((item.rounding or 0) + (other.rounding or 0)) / 2)
        for other in statement
    )
    return not gives_way, item.leads, is_stated, item.public, item.end


def _fours(quarters: list[Figure]) -> Iterator[Figure]:
    for place in range(3, len(quarters)):
        four = quarters[place - 3 : place + 1]
        first = min(each.start for each in four if each.start)
        days = (four[-1].end - first).days + 1
        count = sum((each.end - each.start).days + 1 for each in four if each.start)
        mixed = four[0].kind != "per_share" and any(each.is_former for each in four)
        if 355 <= days <= 380 and abs(count - days) <= 7 and _fit(four) and not mixed:
            yield _joined(four, first)


def _bridges(figures: list[Figure]) -> Iterator[Figure]:
    """Yield twelve months from a year and a part of the next. The shortest part comes last, so that it counts."""
    for part in sorted(figures, key=lambda each: -(each.months or 0)):
        for year in _wholes(figures):
            if part.months == 12 or year.months != 12 or not _near(part.start, year.end + A_DAY):
                continue
            for before in figures:
                same = before.months == part.months and _near(before.start, year.start)
                if (
                    same
                    and 355 <= (part.end - before.end).days <= 380
                    and _fit([part, year, before])
                    and _fits(year, before)
                ):
                    parts = [year, part, replace(before, value=-before.value)]
                    yield replace(_joined(parts, before.end + A_DAY), end=part.end)
