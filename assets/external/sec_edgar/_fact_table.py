"""The facts of a company as one table, for bulk loads: creates the rows of `sec_facts` for all facts together.

Lists of facts with any irregularity (a missing filing, a value that is not a number, an invalid day, a repeated fact)
are left to `sec_facts`, record by record. Pure.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, NamedTuple, cast
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assets.external.sec_edgar import sec_facts
from assets.extraction import Record, Releases
from pitlake import clock
from pitlake.datasets.sec_facts import DATASET
from pitlake.lake.publishing.stage import staged_schema
from resources.http.capture import Capture

SCHEMA = staged_schema(DATASET)
MOST_FACTS = 65_536
"""The number of facts that are converted to rows together."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EPOCH = date(1970, 1, 1).toordinal()
_FIELDS = itemgetter("end", "accn", "filed", "form", "val")
_CONSTANT = {"available_at_basis": None, "available_at_source": DATASET.source_tag}

Packed = tuple[Any, Any, Any, Any, Any, Any]
"""The start, end, accession number, filing date, form and value of a fact."""
Lists = Sequence[tuple[Mapping[str, str], Sequence[Packed | Any]]]
"""The facts of each concept and unit, with their shared fields. Irregular facts are not packed."""
Dating = Callable[[tuple[Any, Any]], "_Dated | None"]
"""Returns the dates of a filing's facts, given its number and filing date; None if they are irregular."""


def fact_table(
    capture: Capture, cik: str, since: date | None, releases: Releases, observed_at: datetime
) -> tuple[pa.Table, list[Record]]:
    """Return the facts of an answer as staged rows, and the remaining facts as records of `sec_facts`.

    since: the first filing date to load. Raises Unparsable like `sec_facts.fact_lists`.
    """

    @cache
    def dated(filing: tuple[Any, Any]) -> _Dated | None:
        """Return the dates of a filing's facts; None if unknown or in the future. Raises ValueError without a date."""
        number, filed = filing
        day = None if filed is None else _day(filed)
        release = releases.release(number, cik, None if day is None else date.fromisoformat(filed))
        if release is None or release.at > observed_at:
            return None
        return _Dated(clock.micros(release.at), release.rule, clock.micros(release.accepted_at), day)

    tables = [SCHEMA.empty_table()]
    for lists in _in_parts(_packed_lists(capture, cik, since)):
        table = _table(lists, capture, dated)
        if table is None:
            return _list_by_list(capture, cik, since, dated)
        tables.append(table)
    return pa.concat_tables(tables), []


def _list_by_list(capture: Capture, cik: str, since: date | None, dated: Dating) -> tuple[pa.Table, list[Record]]:
    tables, left, pack = [SCHEMA.empty_table()], list[Record](), _packer()
    for shared, facts in sec_facts.fact_lists(capture, cik, since):
        if not facts:
            continue
        table = _table([(shared, list(map(pack, facts)))], capture, dated)
        if table is None:
            left += sec_facts.fact_records(facts, shared, capture)
        else:
            tables.append(table)
    return pa.concat_tables(tables), left


def _packed_lists(capture: Capture, cik: str, since: date | None) -> Lists:
    """Read an answer without its facts as dictionaries, which take three times the memory. Raises Unparsable."""
    answer = capture.parsed_json(object_hook=_packer())
    lists = ((shared, facts) for shared, facts in sec_facts.unit_lists(answer, capture, cik))
    if since:
        lists = (
            (shared, [fact for fact in facts if type(fact) is not tuple or sec_facts.is_recent(fact[3], since)])
            for shared, facts in lists
        )
    return [(shared, facts) for shared, facts in lists if facts]


def _in_parts(lists: Lists) -> Iterator[Lists]:
    """Yield lists in groups of up to `MOST_FACTS` facts, and longer lists alone. A group is released after it was
    yielded, because the facts of a large company take much memory.
    """
    left, part, facts = list(reversed(lists)), list[tuple[Mapping[str, str], Sequence[Any]]](), 0
    del lists
    while left:
        part.append(left.pop())
        facts += len(part[-1][1])
        if not left or facts + len(left[-1][1]) > MOST_FACTS:
            yield part
            part, facts = [], 0


def _packer() -> Callable[[Record], Any]:
    """Return a function that packs a fact, and returns any other object unchanged. Equal strings share memory."""
    shared: dict[Any, Any] = {}
    share = shared.setdefault

    def pack(value: Record) -> Any:
        if "accn" not in value:
            return value
        try:
            start, (end, number, filed, form, figure) = value.get("start"), _FIELDS(value)
            fields = share(start, start), share(end, end), share(number, number), share(filed, filed), share(form, form)
        except (KeyError, TypeError):  # a field that is missing or is a list
            return value
        return (*fields, figure)

    return pack


def _table(lists: Lists, capture: Capture, dated: Dating) -> pa.Table | None:
    """Return the rows of some lists; None if any fact is irregular or lacks a field that most facts have."""
    columns: list[list[Any]] = [[] for _ in range(6)]
    try:
        for _, facts in lists:
            if set(map(type, facts)) != {tuple}:
                return None
            start, end, number, *others = zip(*facts, strict=True)
            if len(set(zip(start, end, number, strict=True))) < len(facts):
                return None
            for column, part in zip(columns, (start, end, number, *others), strict=True):
                column.extend(part)
        starts, ends, numbers, filed, forms, values = columns
        if not set(map(type, values)) <= {int, float} or not all(
            type(form) is str and form and form == form.strip() for form in set(forms)
        ):
            return None
        days = {text: _day(text) for text in {*starts, *ends} - {None}}
        filings = list(zip(numbers, filed, strict=True))
        places = {filing: place for place, filing in enumerate(dict.fromkeys(filings))}
        dates, figures = list(map(dated, places)), np.fromiter(map(float, values), float, len(values))
        last_days = [days[text] for text in ends]
    except (KeyError, TypeError, AttributeError, OverflowError, ValueError):
        return None
    if None in dates or not np.isfinite(figures).all():
        return None
    of_list = np.repeat(np.arange(len(lists)), [len(facts) for _, facts in lists])
    of_filing = np.fromiter(map(places.__getitem__, filings), np.int64, len(filings))
    dated_filings = cast("list[_Dated]", dates)
    names = ["/".join((shared["cik"], shared["concept"], shared["unit"], "")) for shared, _ in lists]
    addresses = [f"{capture.evidence}&item={quote(name, safe='/:', errors='replace')}" for name in names]
    first, last, number_texts = (pa.array(texts, pa.string()) for texts in (starts, ends, numbers))
    item = pc.binary_join_element_wise(pa.array(addresses).take(of_list), first.fill_null(""), "")
    rows = {
        "cik": pa.repeat(lists[0][0]["cik"], len(values)),
        "accession_no": number_texts,
        "form_type": forms,
        "release_rule": pa.array([dating.rule for dating in dated_filings]).take(of_filing),
        "accepted_at": pa.array([dating.accepted_at for dating in dated_filings]).take(of_filing),
        "concept": pa.array([shared["concept"] for shared, _ in lists]).take(of_list),
        "unit": pa.array([shared["unit"] for shared, _ in lists]).take(of_list),
        "period_type": pc.if_else(first.is_valid(), "duration", "instant"),
        "period_start": [None if text is None else days[text] for text in starts],
        "period_end": last_days,
        "value": list(map(str, values)),
        "value_number": figures,
        "filing_date": pa.array([dating.filed for dating in dated_filings], pa.int32()).take(of_filing),
        "available_at": pa.array([dating.at for dating in dated_filings]).take(of_filing),
        "evidence": pc.binary_join_element_wise(item, last, number_texts, "/"),
    }
    constants = {
        name: pa.array([value], pa.string()).take(np.zeros(len(values), int)) for name, value in _CONSTANT.items()
    }
    arrays = [_array({**rows, **constants}[field.name], field.type) for field in SCHEMA]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values.cast(kind)
    return pa.array(values, pa.int32()).cast(kind) if kind == pa.date32() else pa.array(values, kind)


class _Dated(NamedTuple):
    """The dates of one filing's facts: instants in microseconds, and its filing date in days since 1970."""

    at: int
    rule: str
    accepted_at: int
    filed: int | None


@lru_cache(maxsize=65_536)
def _day(text: str) -> int:
    """Return a day as days since 1970. Raises ValueError if it is not in EDGAR's format."""
    if not _DAY.fullmatch(text):
        raise ValueError
    return date.fromisoformat(text).toordinal() - _EPOCH
