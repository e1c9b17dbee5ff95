"""Company facts as one table: each fact of a response becomes a row of the table or is returned as irregular."""

import json
from datetime import date, datetime, timezone
from types import SimpleNamespace
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from assets.edgar import Release
from assets.external.sec_edgar import _fact_table, sec_facts
from resources.http.capture import Request
from resources.http.client import captured
from resources.http.providers.sec_edgar import PROVIDER

CIK = "0000000007"
AT = datetime(2020, 3, 1, tzinfo=timezone.utc)
UNKNOWN = "0000000007-20-000009"
DAYS = st.sampled_from(["2019-12-31", "2020-01-15", "2020-02-30", None, 20200115, ["2020-01-15"]])
FACTS = st.fixed_dictionaries(
    {
        "end": DAYS,
        "accn": st.sampled_from(["0000000007-20-000001", "0000000007-20-000002", UNKNOWN, "x\ud800", None]),
        "filed": DAYS,
        "form": st.sampled_from(["10-K", "10-Q", " 8-K", "", None, True, 1]),
        "val": st.sampled_from([1, 1.0, True, -0.0, 10**400, "1", None, float("nan")]),
    },
    optional={"start": DAYS, "frame": st.just("CY2019Q4I"), "nested": st.just({"accn": "0000000007-20-000001"})},
)
PLAIN = {"end": "2019-12-31", "accn": "0000000007-20-000001", "filed": "2020-01-15", "form": "10-K", "val": 1}
LATER = PLAIN | {"filed": "2020-02-15", "accn": "0000000007-20-000002"}
RELEASES = SimpleNamespace(
    release=lambda number, cik, filed: None if number == UNKNOWN else Release(AT, "filing date", AT)
)


def answer(facts):
    concepts = {name: {"units": {"USD": facts[start::3]}} for start, name in enumerate("ABC")}
    body = json.dumps({"cik": 7, "facts": {"us-gaap": concepts}})
    request, headers = Request(f"/api/xbrl/companyfacts/CIK{CIK}.json"), {"content-type": "application/json"}
    return captured(PROVIDER, request, body.encode(), headers=headers, fetched_at=AT)


def names(facts):
    """Return the facts as sorted strings of their identifying fields and values."""
    return sorted(repr([fact.get(name) for name in ("concept", "start", *PLAIN)]) for fact in facts)


@patch.object(_fact_table, "MOST_FACTS", 2)
@given(st.lists(FACTS | st.just(PLAIN), max_size=6), st.none() | st.just(date(2020, 2, 1)))
@example([PLAIN, LATER, LATER], date(2020, 2, 1))
@example([PLAIN, PLAIN | {"start": None}, LATER], None)
@example([LATER | {"form": 1}, LATER | {"filed": True}], date(2020, 2, 1))
@example([PLAIN | {"accn": "x\ud800"}], None)
@example([PLAIN, PLAIN | {"val": "1"}], None)
def test_each_fact_is_a_table_row_or_is_returned_as_irregular(facts, since):
    capture = answer(facts)
    every = [fact | shared for shared, listing in sec_facts.fact_lists(capture, CIK, since) for fact in listing]
    table, irregular = _fact_table.fact_table(capture, CIK, since, RELEASES, AT)
    numbers = {str(fact["val"]): fact["val"] for fact in every if not isinstance(fact["val"], str)}
    rows = [
        {
            "concept": row["concept"],
            "start": row["period_start"] and str(row["period_start"]),
            "end": str(row["period_end"]),
            "accn": row["accession_no"],
            "filed": row["filing_date"] and str(row["filing_date"]),
            "form": row["form_type"],
            "val": numbers[row["value"]],
        }
        for row in table.to_pylist()
    ]
    assert names(rows + irregular) == names(every)
    assert [row["concept"] for row in rows] == sorted(row["concept"] for row in rows)


def test_regular_facts_become_a_table_without_decoding_the_answer_as_json():
    capture = answer([PLAIN, LATER, LATER | {"start": "2019-10-01"}])
    table, irregular = _fact_table.fact_table(capture, CIK, None, RELEASES, AT)
    assert (table.num_rows, irregular) == (3, [])
    assert "_json" not in vars(capture)
