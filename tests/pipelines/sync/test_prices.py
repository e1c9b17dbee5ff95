"""`pitlake sync --prices` loads bars from a user's file and dates them by the close of their day."""

from datetime import datetime
from io import BytesIO
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest

from pipelines.sync import prices
from pipelines.sync.progress import Progress
from pitlake.session import connect
from resources.http.capture import CaptureStore, Request

HEAD = "ticker,date,open,high,low,close,volume\n"
BARS = "NVDA,2024-06-07,1197.7,1216.92,1180.22,1208.88,41238580\nNVDA,2024-06-08,1,1,1,1,1\n"


def closes(lake, as_of):
    with connect(as_of, open_mode=as_of is None, lake=lake, isolation="in_process") as session:
        return session.sql("SELECT ticker, date::VARCHAR, close FROM own_bars ORDER BY ALL").rows()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_bars_are_available_from_the_close_of_their_day(sync, lake, tmp_path, form):
    (tmp_path / "bars.csv").write_text(HEAD + BARS)
    if form == "parquet":
        parquet.write_table(csv.read_csv(tmp_path / "bars.csv"), tmp_path / "bars.parquet")
    done = sync("--prices", f"bars.{form}", "--split-basis", "traded")
    assert done.code == 0, done.err
    assert closes(lake, "2024-06-07T15:59:59-04:00") == []
    assert closes(lake, "2024-06-07T16:00:00-04:00") == [("NVDA", "2024-06-07", 1208.88)]
    assert "own_bars: 1 × no session on that day" in done.err


def test_reloading_a_file_adds_nothing_and_a_corrected_bar_is_a_later_revision(sync, lake, tmp_path):
    (tmp_path / "bars.csv").write_text(HEAD + BARS)
    question = ("--prices", "bars.csv", "--split-basis", "traded")
    sync(*question)
    version = lake.head()
    sync(*question)
    assert lake.head() == version
    (tmp_path / "bars.csv").write_text(HEAD + BARS.replace("1208.88", "1208.5"))
    sync(*question)
    assert closes(lake, "2024-06-07T16:00:00-04:00") == [("NVDA", "2024-06-07", 1208.88)]


def test_a_file_is_captured_again_only_if_it_has_changed(lake, tmp_path, monkeypatch):
    monkeypatch.setattr(prices, "publish", lambda *_, **__: [])
    provider, request = prices.own_bars.DROP.provider.name, Request("bars.csv.1.csv")
    counts = []
    for close in ("1208.88", "1208.88", "1208.5"):
        (tmp_path / "bars.csv").write_text(HEAD + BARS.replace("1208.88", close))
        prices.load(lake, tmp_path / "bars.csv", Progress(str))
        captures = CaptureStore.of(lake.location).newest_first(provider, request.key(provider))
        counts.append(sum(1 for _ in captures))
    assert counts == [1, 1, 2]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Tokyo", "America/New_York", "UTC", None])
def test_a_midnight_timestamp_is_the_day_in_its_own_zone(sync, lake, tmp_path, zone):
    """In UTC, midnight in Berlin is still the day before, which would make the bar available a day early."""
    midnight = datetime(2024, 6, 7, tzinfo=zone and ZoneInfo(zone))
    bars = csv.read_csv(BytesIO((HEAD + BARS).encode())).slice(0, 1)
    days = pa.array([midnight], pa.timestamp("ns", zone))
    parquet.write_table(bars.set_column(1, "date", days), tmp_path / "bars.parquet")
    assert sync("--prices", "bars.parquet", "--split-basis", "traded").code == 0
    assert closes(lake, "2024-06-07T15:59:59-04:00") == []
    assert closes(lake, "2024-06-07T16:00:00-04:00") == [("NVDA", "2024-06-07", 1208.88)]


@pytest.mark.parametrize(
    ("spelled", "day"),
    [
        ("2024-06-06T21:00:00-07:00", "2024-06-07"),  # midnight in New York
        ("2024-06-06T17:00:00-07:00", "2024-06-07"),  # midnight in UTC
        ("2024-06-07T16:00:00-04:00", "2024-06-07"),
        ("2024-06-07T02:30:00+09:00", "2024-06-07"),  # the later of two days
    ],
)
def test_an_ambiguous_bar_time_is_dated_to_the_later_day(sync, lake, tmp_path, spelled, day):
    (tmp_path / "bars.csv").write_text(f"{HEAD}NVDA,{spelled},1,1,1,1,1\n")
    assert sync("--prices", "bars.csv", "--split-basis", "traded").code == 0
    assert closes(lake, None) == [("NVDA", day, 1.0)]


def test_a_column_that_mixes_midnights_and_other_times_is_refused(sync, tmp_path):
    lines = "A,2024-06-07T00:00:00Z,1,1,1,1,1\nA,2024-06-07T16:00:00-04:00,1,1,1,1,1\n"
    (tmp_path / "bars.csv").write_text(HEAD + lines)
    done = sync("--prices", "bars.csv", "--split-basis", "traded")
    assert (done.code, done.out) == (2, "")
    assert "--prices: the column date has 1 midnights and 1 other clock times; write days" in done.err


def test_tickers_are_read_as_text_whatever_the_case_of_the_header(sync, lake, tmp_path):
    lines = "NA,2024-06-07T00:00:00+02:00,1,1,1,1,1\n0700,2024-06-07 00:00:00,2,2,2,2,2.0\n"
    (tmp_path / "bars.csv").write_text(HEAD.title() + lines)
    assert sync("--prices", "bars.csv", "--split-basis", "traded").code == 0
    assert closes(lake, "2024-06-07T15:59:59-04:00") == []
    assert closes(lake, None) == [("0700", "2024-06-07", 2.0), ("NA", "2024-06-07", 1.0)]


ODD = {
    "twice.csv": (HEAD.replace("volume", "Close,volume") + "N,2024-06-07,1,1,1,1,2,1\n", "has several columns close"),
    "short.csv": (HEAD + "N,2024-06-07,1\n", "can't be read: CSV parse error: Expected 7 columns, got 3"),
    "bytes.csv": (HEAD + "N\udce9,2024-06-07,1,1,1,1,1\n", "can't be read: "),
    "list.parquet": ([[1.0]], "can't be read: Unsupported cast from list"),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_refused_in_one_line_that_says_why(sync, tmp_path, name):
    content, message = ODD[name]
    if name == "list.parquet":
        bars = csv.read_csv(BytesIO((HEAD + BARS).encode())).slice(0, 1)
        parquet.write_table(bars.set_column(5, "close", pa.array(content)), tmp_path / name)
    else:
        (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    done = sync("--prices", name, "--split-basis", "traded")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"--prices: {name!r} {message}" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--prices", "bars.csv"), "--split-basis: is missing"),
        (
            ("--prices", "bars.csv", "--split-basis", "adjusted"),
            "--split-basis: adjusted prices depend on later splits",
        ),
        (("--prices", "none.csv", "--split-basis", "traded"), "--prices: there is no file 'none.csv'"),
        (("--prices", "other.csv", "--split-basis", "traded"), "--prices: 'other.csv' has no column open, high, low"),
    ],
)
def test_bad_price_options_are_refused_with_the_reason(sync, tmp_path, arguments, message):
    (tmp_path / "bars.csv").write_text(HEAD + BARS)
    csv.write_csv(pa.table({"ticker": ["A"], "date": ["2024-01-02"]}), tmp_path / "other.csv")
    done = sync(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
