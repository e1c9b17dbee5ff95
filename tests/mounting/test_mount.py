"""A user's table in a lake: types, dates, refusals, and mounting it again."""

import json
from datetime import date, datetime, timedelta, timezone

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pitlake
from pitlake import cli
from pitlake.errors import BadInput, PastChanged
from pitlake.lake import Lake
from pitlake.lake.mounting import contract
from pitlake.lake.publishing import diff, hash_index
from pitlake.lake.publishing.publish import Publisher

NAMES = ["estimates"]
EARLY, LATE = "2024-02-10T10:00:00-05:00", "2024-02-15T16:00:00-05:00"


def estimates(**columns):
    table = {"ticker": ["A", "A", "B"], "period": ["q1", "q2", "q1"], "eps": [1.0, 2.0, 3.0]}
    return pa.table(table | {"published_at": ["2024-02-01", EARLY, LATE]} | columns)


def mounted(lake, table, **options):
    options = {"key": ["ticker", "period"], "available_at": "published_at"} | options
    return lake.mount(table, "estimates", **options)


def rows(lake, as_of, what="ticker, period, eps", view="estimates"):
    with pitlake.connect(as_of, open_mode=as_of is None, lake=lake, isolation="in_process", datasets=NAMES) as session:
        return session.sql(f"SELECT {what} FROM {view} ORDER BY ALL").rows()


def gaps(lake):
    return [(reason, locator) for reason, locator in rows(lake, None, "reason, locator", "gaps")]


def test_mount_and_query_commands_lead_from_a_file_to_an_answer_as_of_an_instant(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    pq.write_table(estimates(), "estimates.parquet")
    command = (
        "mount estimates.parquet --name estimates --available-at published_at --key ticker,period --valid-at period"
    )
    assert cli.invoke(command.split()) == 0
    out, err = capfd.readouterr()
    assert [line.split()[:2] for line in out.splitlines()[2:]] == [
        ["ticker", "string"],
        ["period", "string"],
        ["eps", "float"],
        ["published_at", "instant"],
    ]
    assert "3 rows read, 3 new" in err
    assert "_lake/mounts/estimates.toml" in err
    assert "published_at is trusted; a first mount can't tell it from requested" in err
    assert cli.invoke(["query", "--as-of", EARLY, "--format", "json", "SELECT eps FROM estimates ORDER BY eps"]) == 0
    assert [row["eps"] for row in json.loads(capfd.readouterr().out)] == [1.0, 2.0]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz", ".tsv", ".jsonl", ".ndjson"])
def test_files_of_every_kind_hold_the_same_rows(lake, tmp_path, ending):
    path, frame = tmp_path / f"estimates{ending}", pl.from_arrow(estimates())
    if ending == ".parquet":
        frame.write_parquet(path)
    elif "json" in ending:
        frame.write_ndjson(path)
    else:
        frame.to_pandas().to_csv(path, index=False, sep="\t" if ending == ".tsv" else ",")
    mounted(lake, path)
    assert rows(lake, EARLY) == [("A", "q1", 1.0), ("A", "q2", 2.0)]
    assert rows(lake, LATE, "count(*)") == [(3,)]


@pytest.mark.parametrize(
    "made_of", [lambda table: table, pl.from_arrow, pa.Table.to_pandas], ids=["arrow", "polars", "pandas"]
)
def test_frames_of_every_kind_hold_the_same_rows(lake, made_of):
    pitlake.mount(made_of(estimates()), "estimates", lake=lake, key=["ticker", "period"], available_at="published_at")
    assert rows(lake, EARLY) == [("A", "q1", 1.0), ("A", "q2", 2.0)]


def test_files_that_match_a_pattern_are_mounted_as_one_table(lake, tmp_path):
    for number in range(3):
        pq.write_table(estimates().slice(number, 1), tmp_path / f"{number}.parquet")
    assert mounted(lake, str(tmp_path / "*.parquet")).published == 3


def test_column_types_are_inferred_from_a_data_frame(lake):
    frame = pd.DataFrame({
        "ID": [1, 2], "Price (USD)": [1.5, None], "is_final": [True, False], "tags": [["x"], []],
        "about": [{"a": 1}, {"a": 2}], "day": [date(2024, 1, 1)] * 2, "at": [pd.Timestamp("2024-01-01", tz="UTC")] * 2,
    })  # fmt: skip
    done = lake.mount(frame, "estimates", key=["ID"], available_at="at")
    types = {column.column.name: column.column.type for column in done.mount.columns}
    assert types == {
        "id": "int", "price_usd": "float", "is_final": "bool", "tags": "strings", "about": "json", "day": "date",
        "at": "date",
    }  # fmt: skip
    assert rows(lake, LATE, "id, price_usd, tags, about->>'a'")[1] == (2, None, [], "2")


AT_FOUR = datetime.fromisoformat("2024-02-15T16:00:00")
DATED = [
    ("2024-02-15", None, "2024-02-16T05:00:00Z"),
    ("2024-02-15", "Asia/Tokyo", "2024-02-15T15:00:00Z"),
    ("2024-02-15T16:00:00", "Europe/Berlin", "2024-02-15T15:00:00Z"),
    ("2024-02-15 16:00:00-05:00", None, "2024-02-15T21:00:00Z"),
    ("2024-11-03T01:30:00", "America/New_York", "2024-11-03T06:30:00Z"),
    ("2024-02-15T16:00:00.1234561Z", None, "2024-02-15T16:00:00.123457Z"),
]


@pytest.mark.parametrize(("text", "zone", "existing"), DATED)
def test_dates_in_text_columns_are_never_read_too_early(lake, text, zone, existing):
    """Dates take effect at the end of the day, ambiguous hours at the later reading. Finer times are rounded up."""
    mounted(lake, estimates(published_at=[text] * 3), timezone=zone)
    assert rows(lake, None, "DISTINCT available_at") == [(datetime.fromisoformat(existing),)]


@pytest.mark.parametrize(
    ("column", "zone", "existing"),
    [
        (pa.array([date(2024, 2, 15)] * 3), None, "2024-02-16T05:00:00Z"),
        (pa.array([AT_FOUR] * 3), "Europe/Berlin", "2024-02-15T15:00:00Z"),
        (pa.array([1_708_012_800_000_000_001] * 3, pa.timestamp("ns")), "UTC", "2024-02-15T16:00:00.000001Z"),
        (pa.array([AT_FOUR] * 3, pa.timestamp("s", "UTC")), None, "2024-02-15T16:00:00Z"),
    ],
)
def test_dates_in_typed_columns_are_never_read_too_early(lake, column, zone, existing):
    mounted(lake, estimates(published_at=column), timezone=zone)
    assert rows(lake, None, "DISTINCT available_at") == [(datetime.fromisoformat(existing),)]


def test_a_lag_delays_when_rows_become_available(lake):
    mounted(lake, estimates(published_at=[LATE] * 3), lag="1 day")
    assert rows(lake, "2024-02-16T20:59:59Z") == []
    assert len(rows(lake, "2024-02-16T21:00:00Z")) == 3


def test_rows_that_cannot_be_mounted_become_gaps_with_their_reason(lake):
    times = [None, "soon", "2999-01-01", "01/02/2024", LATE, LATE]
    table = {"ticker": ["A", "B", "C", "D", None, "F"], "eps": ["1", "2", "3", "4", "5", "6"], "published_at": times}
    done = lake.mount(pa.table(table), "estimates", key=["ticker"], available_at="published_at")
    assert done.gaps == {
        "no knowledge time": 1,
        "the knowledge time is unreadable": 2,
        "not public yet": 1,
        "a key column is null": 1,
    }
    assert rows(lake, None, "ticker") == [("F",)]
    assert [locator for _, locator in gaps(lake)][1:] == [
        "estimates#A", "estimates#C", "estimates#B&refused=soon", "estimates#D&refused=01/02/2024"
    ]  # fmt: skip


def test_rows_without_a_knowledge_time_are_available_from_the_mount_on(lake, capfd, tmp_path):
    before = datetime.now(timezone.utc)
    lake.mount(estimates(), "estimates", key=["ticker", "period"])
    assert rows(lake, before.isoformat()) == []
    assert rows(lake, None, "DISTINCT available_at_basis") == [("observed",)]
    assert lake.mount(estimates(), "estimates").unchanged == 3
    pq.write_table(estimates(), tmp_path / "e.parquet")
    assert cli.invoke(["mount", str(tmp_path / "e.parquet"), "--name", "others", "--key", "ticker,period", "--lake",
                       lake.location]) == 0  # fmt: skip
    assert "does not say when its rows became known" in capfd.readouterr().err


WRONG = [
    ({"key": ["tickr"]}, "key: the table has no column 'tickr'; its columns are ticker, period, eps, published_at"),
    ({"available_at": "when"}, "available_at: the table has no column 'when'"),
    ({"available_at": "eps"}, "available_at: eps can't be read as times, such as "),
    ({"available_at": "ticker", "key": ["period"]}, "available_at: ticker can't be read as times, such as "),
    ({"key": None}, "key: missing; name the columns"),
    ({"until": "eps"}, "until: eps can't be read as times, such as "),
    ({"until": "published_at"}, "until: published_at can't be the end of rows"),
    ({"midnights": "noon"}, "midnights: there is no choice 'noon'; choose end or instants"),
    ({"most_refused": 2.0}, "most_refused: 2.0 is not a share"),
    ({"lag": "soon"}, "lag: 'soon' is not a duration"),
    ({"timezone": "Mars/Phobos"}, "timezone: there is no time zone 'Mars/Phobos'"),
    ({"table": estimates(ticker=["A"] * 3, period=["q"] * 3, published_at=[LATE] * 3)}, "estimates#A/q"),
    ({"table": estimates(published_at=["2024-02-15T16:00:00"] * 3)}, "timezone: published_at has timestamps without"),
    ({"table": estimates(at=pa.array([AT_FOUR] * 3))}, "timezone: at has timestamps without"),
    ({"table": estimates(evidence=["x"] * 3)}, "columns: evidence is a reserved column name"),
    ({"table": estimates(**{"e ps": [1.0] * 3, "e-ps": [1.0] * 3})}, "columns: two columns would be called e_ps"),
    ({"table": estimates(raw=[b"x"] * 3)}, "columns: raw is BLOB"),
    ({"table": estimates().slice(0, 0)}, "the table: has no rows"),
    ({"table": [1, 2]}, "the table: a list is not a table"),
    ({"table": pd.Series([1], name="ticker")}, "the table: is not a frame that Arrow can read"),
    ({"table": estimates(published_at=pa.nulls(3))}, "available_at: published_at has no value; name a column of times"),
    ({"table": "nowhere.parquet"}, "the table: there is no file nowhere.parquet"),
    ({"table": __file__}, "the table: files that end in .py"),
    ({"not_before": "published_at"}, "not_before: published_at can't delay rows"),
    ({"table": estimates(end=[LATE] * 3), "until": "end", "not_before": "end"}, "not_before: end can't delay rows"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("options", "message"), WRONG)
def test_invalid_input_raises_an_error_and_writes_nothing(lake, options, message):
    with pytest.raises(BadInput) as raised:
        mounted(lake, **({"table": estimates()} | options))
    assert message in str(raised.value)
    assert raised.value.exit_code == 2
    assert not lake.root.exists()


@pytest.mark.parametrize("name", ["prices", "gaps", "Estimates", "x-y", "estimates_revisions", ""])
def test_reserved_and_invalid_table_names_are_refused(lake, name):
    with pytest.raises(BadInput, match="name: "):
        lake.mount(estimates(), name, key=["ticker"])


def test_errors_of_the_mount_command_name_its_options(tmp_path, capfd):
    pq.write_table(estimates(), tmp_path / "e.parquet")
    arguments = ["mount", str(tmp_path / "e.parquet"), "--name", "e", "--key", "x", "--lake", str(tmp_path / "lake")]
    assert cli.invoke(arguments) == 2
    assert capfd.readouterr().err.startswith("pitlake: --key: the table has no column 'x'")


def test_a_publish_that_fails_leaves_no_contract(lake, monkeypatch):
    def fail(*_):
        raise PastChanged("no")

    monkeypatch.setattr(Lake, "publish", fail)
    with pytest.raises(PastChanged):
        mounted(lake, estimates())
    assert not lake.root.joinpath(contract.key_of("estimates")).exists()


def test_an_interrupted_first_mount_does_not_delay_the_dates_of_rows(lake, monkeypatch):
    """The poll was written, but no version has the rows, so the poll does not prove that rows were missing."""

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as stopped:
        stopped.setattr(Publisher, "_publish_once", stop)
        with pytest.raises(KeyboardInterrupt):
            mounted(lake, estimates())
    done = mounted(lake, estimates())
    assert (done.published, done.revisions) == (3, 0)
    assert rows(lake, EARLY) == [("A", "q1", 1.0), ("A", "q2", 2.0)]
    late = lake.mount(pa.concat_tables([estimates(), estimates(ticker=["C"] * 3).slice(0, 1)]), "estimates")
    assert (late.published, late.revisions) == (1, 1)


def test_an_empty_complete_poll_proves_that_earlier_dated_rows_were_missing(lake, tmp_path):
    dataset = mounted(Lake(tmp_path / "other"), estimates(), trust_dates=True).mount.dataset
    with lake.stage(dataset, "empty") as stage:
        stage.cover()
        lake.publish(stage, datetime(2024, 2, 12, tzinfo=timezone.utc))
    mounted(lake, estimates(), trust_dates=True)
    assert rows(lake, LATE) == [("B", "q1", 3.0)]


def test_duplicate_rows_are_mounted_once_and_contradicting_rows_are_refused(lake):
    twice = pa.concat_tables([estimates()] * 2)
    done = mounted(lake, twice)
    assert (done.rows, done.published) == (6, 3)
    other = pa.concat_tables([twice, estimates(eps=[1.0, None, 3.0]), twice])
    with pytest.raises(BadInput, match=r"rows with the same key and known at the same time differ, such as .*#A/q2;"):
        mounted(lake, other)


def test_the_same_table_again_adds_nothing(lake):
    first = mounted(lake, estimates())
    again = lake.mount(estimates(), "estimates")
    assert (again.version, again.published, again.unchanged) == (first.version, 0, 3)


def test_changed_content_of_a_row_is_available_from_when_the_change_was_seen(lake):
    mounted(lake, estimates())
    seen = lake.now()
    done = lake.mount(estimates(eps=[1.5, 2.0, 3.0]), "estimates")
    assert (done.published, done.revisions, done.unchanged) == (1, 1, 2)
    assert rows(lake, seen.isoformat()) == [("A", "q1", 1.0), ("A", "q2", 2.0), ("B", "q1", 3.0)]
    assert rows(lake, None)[0] == ("A", "q1", 1.5)
    assert lake.mount(estimates(), "estimates").revisions == 1
    assert rows(lake, None)[0] == ("A", "q1", 1.0)


def test_a_correction_of_an_old_statement_does_not_hide_a_newer_one(lake):
    two = estimates(ticker=["A"] * 3, period=["q1"] * 3)
    mounted(lake, two)
    lake.mount(estimates(ticker=["A"] * 3, period=["q1"] * 3, eps=[9.0, 2.0, 3.0]), "estimates")
    assert rows(lake, None) == [("A", "q1", 3.0)]
    assert rows(lake, None, "count(*)", "estimates_revisions") == [(4,)]


def test_a_row_missing_from_an_earlier_mount_is_not_dated_before_that_mount(lake):
    mounted(lake, estimates().slice(0, 2), trust_dates=True)
    done = lake.mount(estimates(), "estimates")
    assert (done.published, done.revisions) == (1, 1)
    assert rows(lake, LATE, "ticker") == [("A",), ("A",)]
    assert rows(lake, None, "available_at_basis, ticker") == [("observed", "B"), *[("source_date", "A")] * 2]


@pytest.mark.parametrize(("trust_dates", "basis"), [(None, "observed"), (True, "between_polls")])
def test_a_date_between_two_mounts_is_used_only_with_trust_dates(lake, trust_dates, basis, capfd):
    """An endpoint that returns current values under the requested date would look the same."""
    mounted(lake, estimates(), trust_dates=trust_dates)
    between = lake.now()
    later = estimates(ticker=["C", "D", "E"], published_at=[between.isoformat()] * 3)
    both = pa.concat_tables([estimates(), later])
    pq.write_table(both, lake.root.parent / "both.parquet")
    command = ("mount", "--lake", str(lake.root), "--name", "estimates", str(lake.root.parent / "both.parquet"))
    assert cli.invoke([*command]) == 0
    assert ("trust_dates = true" in capfd.readouterr().err) == (trust_dates is None)
    of_both = rows(lake, None, "DISTINCT available_at_basis, available_at = published_at", "estimates_revisions")
    assert of_both == [(basis, bool(trust_dates)), ("source_date", True)]
    assert len(rows(lake, between.isoformat())) == (6 if trust_dates else 3)


def test_a_partial_table_proves_nothing_about_missing_rows(lake):
    mounted(lake, estimates().slice(0, 2), partial=True)
    done = lake.mount(estimates().slice(2), "estimates")
    assert (done.published, done.revisions, done.deleted) == (1, 0, 0)
    assert len(rows(lake, LATE)) == 3


def test_a_partial_table_may_later_add_an_older_row_of_a_key(lake):
    two = estimates(ticker=["A"] * 3, period=["q1"] * 3)
    mounted(lake, two.slice(1, 2), partial=True)
    done = lake.mount(two, "estimates")
    assert (done.published, done.revisions) == (1, 0)
    assert rows(lake, EARLY, "eps", "estimates_revisions") == [(1.0,), (2.0,)]


def test_a_row_still_to_come_does_not_date_an_older_row_of_its_key_in_a_partial_table(lake):
    """Otherwise rows after T would change answers as of T."""
    of_a_key = {"ticker": ["A"] * 3, "period": ["q1"] * 3}
    mounted(lake, estimates(**of_a_key, published_at=["2100-01-01", LATE, LATE]).slice(0, 2), partial=True)
    lake.mount(estimates(**of_a_key).slice(0, 2), "estimates")
    shown = rows(lake, EARLY, "available_at_basis, eps", "estimates_revisions")
    assert shown == [("source_date", 1.0), ("source_date", 2.0)]


def test_remounting_a_large_table_publishes_only_the_changed_rows(lake, monkeypatch):
    """A large table is compared with whole files of the lake, without building an index."""
    monkeypatch.setattr(hash_index, "MANY", 0)
    monkeypatch.setattr(diff, "MANY", 0)
    mounted(lake, estimates())
    assert lake.mount(estimates(), "estimates").unchanged == 3
    assert not (lake.root / hash_index.FOLDER).exists()
    done = lake.mount(estimates(eps=[1.0, 2.5, 3.0]).slice(1), "estimates")
    assert (done.published, done.revisions, done.unchanged, done.deleted) == (1, 1, 1, 1)
    back = lake.mount(estimates(), "estimates")
    assert (back.published, back.revisions, back.unchanged, back.deleted) == (1, 1, 2, 0)
    assert rows(lake, None) == [("A", "q1", 1.0), ("A", "q2", 2.0), ("B", "q1", 3.0)]


def test_deleted_rows_stay_visible_and_are_recorded_as_gaps(lake):
    mounted(lake, estimates())
    done = lake.mount(estimates().slice(0, 1), "estimates")
    assert done.deleted == 2
    assert len(rows(lake, None)) == 3
    assert [locator.partition("@")[0] for _, locator in gaps(lake)] == ["estimates#A/q2", "estimates#B/q1"]
    assert lake.mount(estimates().slice(0, 1), "estimates").version == done.version


def test_an_edited_contract_file_takes_effect(lake):
    mounted(lake, estimates())
    path = lake.root / contract.key_of("estimates")
    text = path.read_text().replace('name = "eps"\n', 'name = "eps"\nmeaning = "Earnings."\nunit = "USD"\n')
    path.write_text(text.replace("key = ", 'title = "Estimates of ours"\nkey = '))
    assert lake.contract("estimates").title == "Estimates of ours"
    assert {column.name: column.unit for column in lake.contract("estimates").columns}["eps"] == "USD"
    path.write_text(text[: text.rindex("[[columns]]")].replace('available_at = "published_at"\n', ""))
    with pytest.raises(BadInput, match="available_at: the table has no column 'published_at'"):
        lake.mount(estimates(), "estimates", available_at="published_at")


@pytest.mark.parametrize("key", [(), ("ticker", "period")])
def test_a_contract_may_gain_columns_but_not_lose_or_retype_columns(lake, key):
    mounted(lake, estimates(), key=key)
    path = lake.root / contract.key_of("estimates")
    text = path.read_text()
    path.write_text(text + '\n[[columns]]\nname = "more"\ntype = "string"\n')
    done = lake.mount(estimates(more=[None, None, "x"]), "estimates")
    assert (done.unchanged, done.published, done.deleted) == (2, 1, 0)
    before = {*lake.root.rglob("*")}
    for change in (text, path.read_text().replace('"eps"\ntype = "float"', '"eps"\ntype = "int"')):
        path.write_text(change)
        with pytest.raises(BadInput, match=r"the lake stores (more as string, .* no such|eps as double, .* has int64)"):
            lake.mount(estimates(more=["y"] * 3), "estimates")
    assert {*lake.root.rglob("*")} == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "is not TOML"),
        ('name = "estimates"\n', "columns: missing"),
        ('name = "estimates"\nkey = ["a"]\ncolumns = []\n', "there is no column 'a'"),
        ('name = "estimates"\nkey = ["a"]\nsize = 1\ncolumns = []\n', "size: is not a field of a contract"),
        ('name = "estimates"\nkey = ["a"]\n[[columns]]\nname = "a"\ntype = "text"\n', "there is no type 'text'"),
        ('name = "others"\nkey = ["a"]\n[[columns]]\nname = "a"\ntype = "int"\n', "names the table 'others'"),
    ],
)
def test_the_error_for_an_unreadable_contract_names_its_file(lake, text, message):
    mounted(lake, estimates())
    lake.root.joinpath(contract.key_of("estimates")).write_text(text)
    with pytest.raises(BadInput, match=message) as raised:
        rows(lake, None)
    assert "_lake/mounts/estimates.toml" in str(raised.value)


def test_new_columns_are_left_out_and_missing_columns_are_refused(lake):
    mounted(lake, estimates())
    assert lake.mount(estimates(note=["x"] * 3), "estimates").left_out == ("note",)
    with pytest.raises(BadInput, match="the table has no column 'eps'"):
        lake.mount(estimates().drop_columns("eps"), "estimates")


def test_a_version_before_the_mount_does_not_have_the_table(lake):
    lake.start()
    mounted(lake, estimates())
    assert "estimates" not in lake.contracts(lake.snapshot(0))
    assert "estimates" in lake.contracts()


def test_a_future_row_is_mounted_with_its_own_date_once_that_date_has_passed(lake):
    soon = lake.now() + timedelta(seconds=1.5)
    table = estimates(published_at=["2024-02-01", EARLY, soon.isoformat()])
    assert mounted(lake, table, trust_dates=True).gaps == {"not public yet": 1}
    while lake.now() <= soon:
        pass
    done = lake.mount(table, "estimates")
    assert (done.published, done.revisions, done.gaps) == (1, 0, {})
    assert rows(lake, None, "max(available_at)") == [(soon,)]
