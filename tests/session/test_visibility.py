"""A session shows everything that was public at T and nothing later, whichever files contain the rows."""

from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from pitlake.session.contracts import Catalogue
from pitlake.tombstones import SUPERSEDED_SCHEMA
from tests.session.toylake import CHARTS, MS, US, T, ToyLake, gap, row

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


def tracks(session, relation="charts_revisions"):
    return [result[0] for result in session.sql(f"SELECT track FROM {relation} ORDER BY available_at, track").rows()]


@pytest.fixture(params=["process", "in_process"])
def isolation(request):
    return request.param


def test_a_row_available_at_t_is_shown(lake, ask, isolation):
    lake.add("charts", [row("a", T), row("b", T + US)])
    assert tracks(ask(isolation=isolation)) == ["a"]


def test_rows_are_cut_to_the_microsecond_though_manifests_have_milliseconds(lake, ask, isolation):
    inside = T + timedelta(microseconds=400)
    lake.add("charts", [row("a", T + timedelta(microseconds=300)), row("b", inside + US)])
    lake.add("charts", [row("c", inside), row("d", T - DAY)])
    assert tracks(ask(inside, isolation=isolation)) == ["d", "a", "c"]


def test_a_session_before_the_first_row_returns_empty_typed_results(lake, ask, isolation):
    lake.add("charts", [row("a", T + DAY)])
    session = ask(isolation=isolation)
    assert session.sql("SELECT track || 'x', position + 1, moods[1], available_at FROM charts").rows() == []
    assert session.sql("SELECT sum(position) FROM charts").arrow().schema.types == [pa.decimal128(38, 0)]


def test_a_dataset_without_a_table_in_the_version_is_empty(ask, isolation):
    assert tracks(ask(isolation=isolation), "sales_revisions") == []


def test_earlier_months_and_files_that_straddle_the_instant_are_combined(lake, ask, isolation):
    lake.add("charts", [row("jan", T - 40 * DAY)])
    lake.add("charts", [row("feb 1", T - 14 * DAY), row("feb 20", T + 5 * DAY)])
    lake.add("charts", [row("feb 2", T - 13 * DAY)])
    lake.add("charts", [row("mar", T + 30 * DAY)])
    assert tracks(ask(isolation=isolation)) == ["jan", "feb 1", "feb 2"]


@pytest.mark.parametrize("table", ["charts", "gaps/charts"])
@pytest.mark.parametrize("harm", ["missing", "damaged", "emptied", "a folder"])
@pytest.mark.parametrize("after", [MS, HOUR, 40 * DAY, 400 * DAY])
def test_files_that_lie_after_t_are_never_opened(lake, ask, table, harm, after):
    outcome = gap if table.startswith("gaps") else partial(row, "b")
    lake.add("charts", [row("a", T)])
    later = Path(lake.add(table, [outcome(available_at=T + after)]).path)
    later.write_bytes(b"PAR1" if harm == "damaged" else b"")
    if harm in ("missing", "a folder"):
        later.unlink()
    if harm == "a folder":
        later.mkdir()
    session = ask()
    assert tracks(session) == ["a"]
    assert session.sql("SELECT * FROM gaps").rows() == []


def test_the_view_shows_the_newest_revision_and_revisions_show_all(lake, ask, isolation):
    lake.add("charts", [row("a", T - 60 * DAY, 9), row("a", T - DAY, 5), row("a", T, 2), row("a", T + US, 1)])
    session = ask(isolation=isolation)
    assert session.sql("SELECT position FROM charts").rows() == [(2,)]
    numbered = session.sql(
        "SELECT revision, position, prev_available_at FROM charts_revisions ORDER BY revision"
    ).rows()
    assert numbered == [(1, 9, None), (2, 5, T - 60 * DAY), (3, 2, T - DAY)]


def test_revisions_of_one_instant_have_a_total_order(lake, ask):
    lake.add("charts", [row("a", T, 1), row("a", T, 2)])
    lake.add("charts", [row("a", T, 3)])
    query = "SELECT position, revision FROM charts_revisions ORDER BY revision"
    assert ask().sql(query).rows() == ask().sql(query).rows()


def test_lists_and_nulls_come_through_a_cut(lake, ask, isolation):
    lake.add("charts", [row("a", T, moods=["x", "y"], score=None), row("b", T, moods=None), row("c", T + US)])
    result_rows = ask(isolation=isolation).sql("SELECT moods, score FROM charts ORDER BY track").rows()
    assert result_rows == [(["x", "y"], None), (None, 0.1)]


def test_views_have_the_contracts_columns_and_no_wall_clock_columns(lake, ask):
    lake.add("charts", [row("a", T)])
    session = ask()
    assert session.sql("SELECT * FROM charts").columns == list(CHARTS.agent_columns)
    revisions = session.sql("SELECT * FROM charts_revisions").columns
    assert revisions == [*CHARTS.agent_columns, "revision", "prev_available_at"]


def test_gaps_reveal_nothing_of_the_future_the_runs_or_the_wall_clock(lake, ask, isolation):
    lake.add("gaps/charts", [gap(T - 40 * DAY, locator="old"), gap(T, locator="now"), gap(T + US, locator="later")])
    lake.add("gaps/sales", [gap(T - 40 * DAY, "sales")])
    lake.add("gaps/awards", [gap(T - 40 * DAY, "awards")])
    result = ask(isolation=isolation).sql("SELECT * FROM gaps ORDER BY ALL")
    assert result.columns == ["dataset", "gap_type", "reason", "locator", "available_at"]
    assert [(each[0], each[3]) for each in result.rows()] == [
        ("charts", "now"),
        ("charts", "old"),
        ("sales", "Track:lost"),
    ]


@pytest.mark.parametrize("name", ["charts", "sales"])
def test_later_gaps_of_any_dataset_are_cut_away(lake, ask, isolation, name):
    lake.add(f"gaps/{name}", [gap(T, name, locator="now"), gap(T + US, name, locator="later")])
    assert ask(isolation=isolation).sql("SELECT dataset, locator FROM gaps").rows() == [(name, "now")]


def test_the_view_gaps_shows_only_the_datasets_of_the_session(lake, ask):
    lake.add("gaps/charts", [gap(T)])
    lake.add("gaps/sales", [gap(T, "sales")])
    assert ask(datasets=["sales"]).sql("SELECT dataset FROM gaps").rows() == [("sales",)]


def test_lake_info_shows_as_of_watermark_and_row_counts_but_no_version(lake, ask, isolation):
    lake.add("charts", [row("a", T - 60 * DAY), row("b", T - DAY - US), row("c", T + US)])
    result_rows = ask(isolation=isolation).sql("SELECT * FROM lake_info ORDER BY dataset").rows()
    assert result_rows == [(T, "charts", T - DAY - US, 2), (T, "sales", None, 0)]


def test_every_spelling_of_now_answers_t(ask):
    spellings = "now(), as_of(), current_timestamp, get_current_timestamp(), transaction_timestamp(), main.now()"
    assert set(ask().sql(f"SELECT {spellings}").rows()[0]) == {T}
    days = "today(), current_date, localtimestamp::DATE, now()::DATE"
    assert set(ask().sql(f"SELECT {days}").rows()[0]) == {T.date()}
    times = "current_time, get_current_time(), localtime, now()::TIMESTAMP::TIME"
    assert set(ask().sql(f"SELECT {times}").rows()[0]) == {T.time()}
    assert ask().sql("SELECT age(TIMESTAMP '2024-02-01') = INTERVAL 14 DAY").rows() == [(True,)]


def test_a_session_does_not_change_when_the_lake_changes(lake, ask):
    file = lake.add("charts", [row("a", T)])
    session = ask()
    lake.add("charts", [row("b", T)])
    (lake.root / "charts" / "part-0.parquet").unlink()
    assert file.rows == 1
    assert tracks(session) == ["a"]


def test_rows_at_the_end_of_a_new_york_month_are_cut_at_the_instant(lake, ask):
    end_of_january = datetime(2024, 2, 1, 4, 59, 59, 999999, tzinfo=timezone.utc)
    lake.add("charts", [row("a", end_of_january), row("b", end_of_january + MS)])
    assert tracks(ask(end_of_january)) == ["a"]
    assert tracks(ask(end_of_january + MS)) == ["a", "b"]


@pytest.mark.parametrize(
    "evening", [datetime(2024, 2, 1, 2, tzinfo=timezone.utc), datetime(2024, 1, 1, 2, tzinfo=timezone.utc)]
)
def test_the_last_evening_of_a_new_york_month_belongs_to_that_month(lake, ask, isolation, evening):
    lake.add("charts", [row("a", evening), row("b", evening + MS)])
    lake.add("charts", [row("c", evening), row("d", evening + 3 * HOUR - US), row("e", evening + 3 * HOUR)])
    lake.add("gaps/charts", [gap(evening, locator="now"), gap(evening + MS, locator="later")])
    session = ask(evening, isolation=isolation)
    assert sorted(tracks(session)) == ["a", "c"]
    assert session.sql("SELECT locator FROM gaps").rows() == [("now",)]
    assert sorted(tracks(ask(evening + 3 * HOUR, isolation=isolation))) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("name", ["charts", "charts_revisions", "gaps", "lake_info"])
def test_a_dataset_without_rows_yet_reveals_nothing_of_later_rows(ask_of, tmp_path, name):
    nothing, later = (ToyLake(tmp_path / name) for name in ("nothing", "later"))
    later.add("charts", [row("a", T + 40 * DAY), row("a", T + 41 * DAY)])
    later.add("gaps/charts", [gap(T + 40 * DAY)])
    dead = {"available_at": T + 41 * DAY, "dead_at": T + 40 * DAY, "dead_hash": b"0" * 16}
    later.add_file("superseded/charts", pa.Table.from_pylist([dead], schema=SUPERSEDED_SCHEMA))
    queries = (
        f"EXPLAIN FROM {name}",
        "SELECT sql FROM duckdb_views() ORDER BY ALL",
        f"DESCRIBE {name}",
        f"FROM {name}",
    )
    reply = [[ask_of(lake).sql(query).rows() for query in queries] for lake in (nothing, later)]
    assert reply[0] == reply[1]


def test_a_tombstone_counts_from_when_its_row_was_superseded(lake, ask, isolation):
    old, new = row("a", T - DAY, 1), row("a", T, 2)
    lake.add("charts", [old, new, row("b", T - DAY, 3)])
    dead = {"available_at": T, "dead_at": T - DAY, "dead_hash": old["content_hash"]}
    lake.add_file("superseded/charts", pa.Table.from_pylist([dead], schema=SUPERSEDED_SCHEMA))
    charts = Catalogue({"charts": CHARTS})
    question = "SELECT track, position FROM charts ORDER BY track"
    result = [ask(at, isolation=isolation, catalogue=charts).sql(question).rows() for at in (T - US, T)]
    assert result == [[("a", 1), ("b", 3)], [("a", 2), ("b", 3)]]


def test_loaded_rows_can_be_joined_with_a_dataset(lake, ask, isolation):
    lake.add("charts", [row("a", T, 4), row("b", T, 5)])
    session = ask(isolation=isolation)
    session.load("mine", [{"track": "b", "weight": 2}])
    assert session.sql("SELECT track, position * weight FROM charts JOIN mine USING (track)").rows() == [("b", 10)]


def test_the_file_layout_of_the_current_month_is_not_visible(ask_of, tmp_path):
    rows = [row(f"t{number}", T - timedelta(hours=number), number) for number in range(12)]
    queries = ("FROM lake.charts", "FROM parquet_metadata('/proc/self/fd/300')", "EXPLAIN SELECT count(*) FROM charts")
    reply = set()
    for split in (1, 5, 12):
        lake = ToyLake(tmp_path / str(split))
        for start in range(0, len(rows), split):
            lake.add("charts", [*rows[start : start + split], row("later", T + split * MS, split)])
        session = ask_of(lake)
        reply.add(tuple(session.sql(query).receipt.result_sha256 for query in queries))
    assert len(reply) == 1
