"""The facts of a company as one table, for bulk loads: creates the rows of `sec_facts` for all facts together.

Lists of facts with any irregularity (a missing filing, a value that is not a number, an invalid day, a repeated fact)
are left to `sec_facts`, record by record. Pure.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assets.edgar import Release
from assets.external.sec_edgar import sec_facts
from assets.extraction import UNFORESEEN, Record, Releases, iso_day
from pitlake.datasets.sec_facts import DATASET
from pitlake.lake.publishing.stage import staged_schema
from resources.http.capture import Capture

SCHEMA = staged_schema(DATASET)
MOST_FACTS = 65_536
"""The number of facts that are converted to rows together."""
_FIELDS = itemgetter("end", "accn", "filed", "form", "val")

Lists = Sequence[tuple[int, Mapping[str, str], Sequence[Any]]]
"""Each list's place in the answer, the fields that its facts share, and the facts: tuples of start, end, accession
number, filing date, form and value. Irregular facts may be of another type.
"""
Dating = Callable[[tuple[Any, Any]], tuple[Release, date | None] | None]
"""Returns the release and the filing date of a filing's facts, given its number and filing date as in the answer; None
for an unknown or future filing. Raises an error of UNFORESEEN for an invalid date.
"""


def fact_table(
    capture: Capture, cik: str, since: date | None, releases: Releases, observed_at: datetime
) -> tuple[pa.Table, list[Record]]:
    """Return the facts of an answer as staged rows, and the remaining facts as records of `sec_facts`.

    since: the first filing date to load. Raises Unparsable like `sec_facts.fact_lists`.
    """

    @cache
    def dated(filing: tuple[Any, Any]) -> tuple[Release, date | None] | None:
        number, filed = filing
        day = None if filed is None else iso_day(filed)
        release = releases.release(number, cik, day)
        return None if release is None or release.at > observed_at else (release, day)

    # Facts as dictionaries take three times the memory, so only an answer with irregular facts is read as such.
    packed = enumerate(sec_facts.fact_lists(capture, cik, since, _packer()))
    lists: Lists = [(place, shared, facts) for place, (shared, facts) in packed if facts]
    pending, tables, irregular = [lists] if lists else [], [SCHEMA.empty_table()], set[int]()
    while pending:
        lists = pending.pop()  # The only reference to them, because the facts of a large company take much memory.
        middle = len(lists) // 2
        is_large = middle and sum(len(facts) for *_, facts in lists) > MOST_FACTS
        table = None if is_large else _table(lists, capture, dated)
        if table is not None:
            tables.append(table)
        elif middle:
            pending += [lists[middle:], lists[:middle]]
        else:
            irregular.add(lists[0][0])
    unpacked = enumerate(sec_facts.fact_lists(capture, cik, since) if irregular else ())
    left = (sec_facts.fact_records(facts, shared, capture) for place, (shared, facts) in unpacked if place in irregular)
    return pa.concat_tables(tables), list(chain.from_iterable(left))


def _packer() -> Callable[[Record], Any]:
    """Return a function that packs a fact, and returns any other object unchanged. Equal strings share memory."""
    shared: dict[Any, Any] = {}
    share = shared.setdefault

    def pack(value: Record) -> Any:
        try:
            start, (end, number, filed, form, figure) = value.get("start"), _FIELDS(value)
            fields = share(start, start), share(end, end), share(number, number), share(filed, filed), share(form, form)
        except (KeyError, TypeError):  # an object that is not a fact, or a field that is a list
            return value
        # Sharing would replace a filing date True by an equal 1, before the date decides whether the fact is recent.
        return (*fields, figure) if filed is None or type(filed) is str else value

    return pack


def _table(lists: Lists, capture: Capture, dated: Dating) -> pa.Table | None:
    """Return the rows of some lists; None if any fact is irregular or lacks a field that most facts have."""
    columns: list[list[Any]] = [[] for _ in range(6)]
    try:
        for *_, facts in lists:
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
        days = {text: iso_day(text) for text in {*starts, *ends} - {None}}
        filings = list(zip(numbers, filed, strict=True))
        places = {filing: place for place, filing in enumerate(dict.fromkeys(filings))}
        dates, figures = [dating for dating in map(dated, places) if dating], np.fromiter(map(float, values), float)
        last_days = [days[text] for text in ends]
    except UNFORESEEN:
        return None
    if len(dates) < len(places) or not np.isfinite(figures).all():
        return None
    of_list = np.repeat(np.arange(len(lists)), [len(facts) for *_, facts in lists])
    of_filing = np.fromiter(map(places.__getitem__, filings), np.int64, len(filings))
    names = ["/".join((shared["cik"], shared["concept"], shared["unit"], "")) for _, shared, _ in lists]
    addresses = [f"{capture.evidence}&item={quote(name, safe='/:', errors='replace')}" for name in names]
    first, last, number_texts = (pa.array(texts, pa.string()) for texts in (starts, ends, numbers))
    item = pc.binary_join_element_wise(pa.array(addresses).take(of_list), first.fill_null(""), "")
    rows = {
        "cik": pa.repeat(lists[0][1]["cik"], len(values)),
        "accession_no": number_texts,
        "form_type": forms,
        "release_rule": pa.array([release.rule for release, _ in dates]).take(of_filing),
        "accepted_at": pa.array([release.accepted_at for release, _ in dates]).take(of_filing),
        "concept": pa.array([shared["concept"] for _, shared, _ in lists]).take(of_list),
        "unit": pa.array([shared["unit"] for _, shared, _ in lists]).take(of_list),
        "period_type": pc.if_else(first.is_valid(), "duration", "instant"),
        "period_start": list(map(days.get, starts)),
        "period_end": last_days,
        "value": list(map(str, values)),
        "value_number": figures,
        "filing_date": pa.array([filing_date for _, filing_date in dates]).take(of_filing),
        "available_at": pa.array([release.at for release, _ in dates]).take(of_filing),
        "available_at_source": pa.repeat(DATASET.source_tag, len(values)),
        "available_at_basis": pa.nulls(len(values)),
        "evidence": pc.binary_join_element_wise(item, last, number_texts, "/"),
    }
    return pa.Table.from_pydict(rows, schema=SCHEMA)
