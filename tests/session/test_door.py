"""The arguments that `connect` accepts and refuses: instants, modes, datasets, parameters."""

import json
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from datetime import time as clock_time
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pitlake
from pitlake.errors import BadInput, BadInstant, LakeNotFound, QueryFailed
from pitlake.session import connect
from pitlake.session.contracts import Catalogue
from pitlake.session.sealed.protocol import encode, pack_parameters, unpack_parameters
from tests.session.toylake import CATALOGUE, T, row
from tests.sessions import open_at


def test_a_forgotten_as_of_is_an_error(lake):
    with pytest.raises(BadInput, match="as_of: missing; give an instant"):
        open_at(lake.snapshot, catalogue=CATALOGUE)


def test_as_of_and_open_mode_exclude_each_other(lake):
    with pytest.raises(BadInput, match="given together"):
        open_at(lake.snapshot, T, open_mode=True, catalogue=CATALOGUE)


@pytest.mark.parametrize("as_of", ["2024-02-15", "2024-02-15T16:00:00", "yesterday", "", datetime(2024, 2, 15)])  # noqa: DTZ001
def test_only_strict_instants_open_a_session(lake, as_of):
    with pytest.raises(BadInstant):
        open_at(lake.snapshot, as_of, catalogue=CATALOGUE)


def test_as_of_is_compared_as_an_instant_in_any_time_zone(lake, ask):
    lake.add("charts", [row("a", T), row("b", T + timedelta(microseconds=1))])
    for spelt in ("2024-02-15T16:00:00-05:00", T.astimezone(timezone(timedelta(hours=9)))):
        assert ask(spelt).sql("SELECT track FROM charts").rows() == [("a",)]


@pytest.mark.parametrize("as_of", ["0001-02-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_instants_at_the_ends_of_time_are_accepted(lake, ask, as_of):
    lake.add("charts", [row("a", T)])
    session = ask(as_of)
    assert len(session.sql("FROM charts")) == (as_of > "2024")
    assert session.sql("SELECT as_of()::VARCHAR").rows()[0][0].startswith(as_of[:10])


def test_datasets_are_chosen_by_name(lake, ask):
    lake.add("charts", [row("a", T)])
    session = ask(datasets=["charts"])
    assert session.datasets == ("charts",)
    with pytest.raises(QueryFailed, match="opened without sales"):
        session.sql("FROM sales_revisions")


@pytest.mark.parametrize(
    ("changes", "reply"),
    [
        ({"datasets": ["chart"]}, "no dataset 'chart'; did you mean charts?"),
        ({"datasets": ["awards"]}, "open mode only"),
        ({"datasets": "charts"}, "datasets: is not a list of names"),
        ({"datasets": 5}, "datasets: is not a list of names"),
        ({"datasets": [["charts"]]}, "datasets: is not a list of names"),
        ({"limits": 5}, "limits: is a int"),
        ({"isolation": "thread"}, 'must be "process" or "in_process", not \'thread\''),
    ],
)
def test_invalid_arguments_are_refused_and_the_error_says_what_to_do(ask, changes, reply):
    with pytest.raises(BadInput, match=reply):
        ask(**changes)


def test_outcomes_are_shown_only_in_open_mode(lake, ask):
    lake.add("awards", [row("a", T)])
    with pytest.raises(QueryFailed, match="open mode only"):
        ask().sql("FROM awards")
    for names in (None, ["awards"]):
        assert ask(None, open_mode=True, datasets=names).sql("SELECT track FROM awards").rows() == [("a",)]


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_open_mode_shows_everything_and_the_machines_clock(lake, ask, isolation):
    lake.add("charts", [row("a", T), row("b", T + timedelta(days=900))])
    session = ask(None, open_mode=True, isolation=isolation)
    assert session.as_of is None
    assert session.sql("SELECT track FROM charts ORDER BY track").rows() == [("a",), ("b",)]
    assert session.sql("SELECT as_of(), now() > TIMESTAMPTZ '2024-02-16 00:00:00+00'").rows() == [(None, True)]
    assert session.sql("SELECT as_of, watermark FROM lake_info WHERE dataset = 'charts'").rows() == [
        (None, T + timedelta(days=900))
    ]


def test_functions_that_reveal_machine_time_or_query_counts_are_refused(ask):
    session = ask()
    with pytest.raises(QueryFailed, match="reads the machine's clock"):
        session.sql("SELECT uuidv7()")
    for name in ("txid_current", "current_transaction_id", "current_query_id"):
        with pytest.raises(QueryFailed, match="earlier statements of this session"):
            session.sql(f"SELECT {name}()")


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_parameters_keep_their_types(ask, isolation):
    values = [
        1,
        1.5,
        "x'",
        True,
        None,
        date(2024, 1, 2),
        T,
        datetime(2024, 1, 2, 3),  # noqa: DTZ001
        Decimal("1.25"),
        b"\x00",
        ["a", None],
    ]
    marks = ", ".join(f"? AS c{number}" for number in range(len(values)))
    assert list(ask(isolation=isolation).sql(f"SELECT {marks}", values).rows()[0]) == values
    assert ask(isolation=isolation).sql("SELECT $a + $b", {"a": 1, "b": 2}).rows() == [(3,)]


def test_values_of_types_that_json_lacks_travel_unchanged():
    values = [
        date(2024, 1, 2),
        clock_time(3, 4, 5, 6),
        timedelta(days=-7, seconds=8, microseconds=9),
        Decimal("1.250"),
        b"\x00\xff",
        UUID(int=10),
        T,
        datetime(2024, 1, 2, 3),  # noqa: DTZ001
        {"$": "date", "v": [{"deep": T}]},
    ]
    assert unpack_parameters(json.loads(encode(pack_parameters(values)))) == values


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(timezone.utc)),
    st.times(),
    st.timedeltas(),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.uuids(),
)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))
def test_parameters_travel_unchanged(value):
    assert unpack_parameters(json.loads(json.dumps(pack_parameters(value)))) == value


@pytest.mark.parametrize("params", ["x", 5, [object()], {"a": {1: 2}}, [UUID]])
def test_values_that_cannot_be_bound_as_parameters_are_refused(ask, params):
    with pytest.raises(BadInput, match="params"):
        ask().sql("SELECT 1", params)


def test_missing_parameters_raise_query_failed(ask):
    with pytest.raises(QueryFailed):
        ask().sql("SELECT ?", [])


@pytest.mark.parametrize(
    "name",
    [
        "charts",
        "charts_revisions",
        "awards",
        "gaps",
        "lake_info",
        "lake",
        "Charts",
        "CHARTS_REVISIONS",
        "Gaps",
        "LAKE_INFO",
        "a b",
        "",
        "1x",
        5,
    ],
)
def test_loaded_rows_cannot_take_the_name_of_a_view_or_an_invalid_name(ask, name):
    with pytest.raises(BadInput, match="name"):
        ask().load(name, [{"a": 1}])


def test_rows_can_be_loaded_from_arrow_pandas_polars_and_lists(ask):
    import pandas as pd
    import polars as pl

    session = ask()
    for rows in (pa.table({"a": [1]}), pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), [{"a": 1}]):
        session.load("mine", rows)
        assert session.sql("FROM mine").rows() == [(1,)]
    with pytest.raises(BadInput, match="rows"):
        session.load("mine", "a")


def test_large_tables_can_be_loaded_and_queried(ask):
    session = ask()
    session.load("mine", pa.table({"a": range(2_000_000)}))
    assert len(session.sql("FROM mine")) == 2_000_000


def test_connect_raises_lake_not_found_for_a_missing_root(tmp_path):
    with pytest.raises(LakeNotFound):
        connect(as_of=T, lake=tmp_path / "nowhere")
    assert pitlake.connect is connect


def test_a_script_returns_the_result_of_its_last_statement(ask):
    assert ask().sql("CREATE TEMP TABLE t AS SELECT 1 AS a; INSERT INTO t VALUES (2); FROM t").rows() == [(1,), (2,)]


@pytest.mark.parametrize("isolation", ["process", "in_process"])
@pytest.mark.parametrize(
    "value",
    [
        "'12:00:00+05'::TIMETZ",
        "'101'::BIT",
        "1234567::BIGNUM",
        "md5_number('a')",
        "[{'deep': MAP {1: '12:00:00+05'::TIMETZ}}]",
        "'24:00:00'::TIME",
        "['24:00:00'::TIME]",
        "170141183460469231731687303715884105727::HUGEINT",
    ],
)
def test_values_that_would_be_altered_in_transit_are_refused_by_column_name(ask, isolation, value):
    session = ask(isolation=isolation)
    session.sql("CREATE TEMP TABLE mine AS SELECT 1 AS a")
    with pytest.raises(QueryFailed, match=r'column "x" .*; cast it in the query'):
        session.sql(f"SELECT {value} AS x")
    assert session.sql(f"SELECT ({value})::VARCHAR IS NULL FROM mine").rows() == [(False,)]


@pytest.mark.parametrize("isolation", ["process", "in_process"])
@pytest.mark.parametrize(
    "many",
    [
        "repeat([NULL], 100000)",
        "(SELECT array_agg(NULL) FROM range(100000))",
        "(SELECT list({'a': NULL}) FROM range(100000))",
        "{'deep': [repeat([NULL], 100000)]}.deep[1]",
    ],
)
def test_long_lists_of_nulls_are_returned(ask, isolation, many):
    session = ask(isolation=isolation)
    result = session.sql(f"SELECT {many} AS x, [] AS e, NULL AS n").rows()[0]
    assert (len(result[0]), set(map(str, result[0])) <= {"None", "{'a': None}"}) == (100_000, True)
    assert result[1:] == ([], None)


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_an_aborted_transaction_can_be_rolled_back(ask, isolation):
    session = ask(isolation=isolation)
    session.sql("BEGIN")
    for query in ("SELECT error('mine')", "SELECT 1"):
        with pytest.raises(QueryFailed):
            session.sql(query)
    session.sql("ROLLBACK")
    assert session.sql("SELECT 1").rows() == [(1,)]


@pytest.mark.parametrize("isolation", ["process", "in_process"])
@pytest.mark.parametrize(
    "rows",
    [
        pa.table({"a": pa.array([[1, 2]], pa.list_view(pa.int32()))}),
        pa.table({"a": pa.RunEndEncodedArray.from_arrays(pa.array([1], pa.int32()), pa.array([1]))}),
        [{"a": 1}, {"a": "x"}],
        [1],
        [{"a": object()}],
        [{"a": 2**70}],
    ],
    ids=["list view", "runs", "two types", "no rows", "no value", "too large"],
)
def test_rows_of_unsupported_types_are_refused_and_not_loaded(ask, isolation, rows):
    session = ask(isolation=isolation)
    with pytest.raises(BadInput, match="rows"):
        session.load("mine", rows)
    with pytest.raises(QueryFailed, match="does not exist"):
        session.sql("FROM mine")


@pytest.mark.parametrize("caps", [{"max_rows": "5"}, {"max_rows": True}, {"max_bytes": 1.5}, {"max_rows": -1}], ids=str)
def test_max_rows_and_max_bytes_must_be_non_negative_integers(ask, caps):
    with pytest.raises(BadInput, match=next(iter(caps))):
        ask().sql("SELECT 1", **caps)


@pytest.mark.parametrize("version", ["1", 1.0, True])
def test_a_version_that_is_not_an_integer_is_refused(tmp_path, version):
    with pytest.raises(BadInput, match="version"):
        connect(T, lake=tmp_path, version=version)


def test_a_lake_that_is_not_a_location_is_refused(tmp_path):
    with pytest.raises(BadInput, match="lake"):
        connect(T, lake=5)


def test_text_that_is_not_valid_utf_8_is_refused(ask):
    for query, params, field in (("SELECT '\udcff'", None, "query"), ("SELECT ?", ["\udcff"], "params")):
        with pytest.raises(BadInput, match=field):
            ask().sql(query, params)
    with pytest.raises(BadInput, match="params"):
        ask().sql("SELECT $a", {"a": {"\udcff": 1}})


DECIDED = """-- A view of charts, decided by hand.
CREATE VIEW charts AS
WITH newest AS (SELECT * FROM charts_revisions QUALIFY row_number() OVER (
    PARTITION BY track ORDER BY available_at DESC, evidence DESC
) = 1)
SELECT available_at, available_at_source, track || ' -- charts_revisions' AS track, position, evidence FROM newest;
"""


@pytest.mark.parametrize("isolation", ["process", "in_process"])
def test_omitting_hindsight_leaves_string_literals_of_a_view_unchanged(lake, isolation):
    lake.add("charts", [row("a", T), row("b", T)])
    dataset = replace(CATALOGUE.contracts["charts"], knowable={"position": "hindsight"})
    catalogue = Catalogue({"charts": dataset}, {"charts": DECIDED})
    with open_at(lake.snapshot, T, catalogue=catalogue, hindsight="omit", isolation=isolation) as session:
        assert "position" not in session.sql("FROM charts").columns
        tracks = session.sql("SELECT track FROM charts ORDER BY track").rows()
        assert tracks == [("a -- charts_revisions",), ("b -- charts_revisions",)]
        assert session.sql("SELECT count(*) FROM charts_revisions").rows() == [(2,)]
