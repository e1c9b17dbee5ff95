"""`pitlake sync --prices`: bars of a user's own file, dated by the close of their day."""

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest

from pitlake.session import connect

HEAD = "ticker,date,open,high,low,close,volume\n"
BARS = "NVDA,2024-06-07,1197.7,1216.92,1180.22,1208.88,41238580\nNVDA,2024-06-08,1,1,1,1,1\n"


def closes(lake, as_of):
    with connect(as_of, lake=lake, isolation="in_process") as session:
        return session.sql("SELECT ticker, date::VARCHAR, close FROM own_bars ORDER BY ALL").rows()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_bars_count_from_the_close_of_their_day(sync, lake, tmp_path, form):
    (tmp_path / "bars.csv").write_text(HEAD + BARS)
    if form == "parquet":
        parquet.write_table(csv.read_csv(tmp_path / "bars.csv"), tmp_path / "bars.parquet")
    done = sync("--prices", f"bars.{form}", "--split-basis", "traded")
    assert done.code == 0, done.err
    assert closes(lake, "2024-06-07T15:59:59-04:00") == []
    assert closes(lake, "2024-06-07T16:00:00-04:00") == [("NVDA", "2024-06-07", 1208.88)]
    assert "own_bars: 1 × no session on that day" in done.err


def test_the_same_file_again_adds_nothing_and_a_corrected_bar_is_a_revision(sync, lake, tmp_path):
    (tmp_path / "bars.csv").write_text(HEAD + BARS)
    asked = ("--prices", "bars.csv", "--split-basis", "traded")
    sync(*asked)
    version = lake.head()
    sync(*asked)
    assert lake.head() == version
    (tmp_path / "bars.csv").write_text(HEAD + BARS.replace("1208.88", "1208.5"))
    sync(*asked)
    assert closes(lake, "2024-06-07T16:00:00-04:00") == [("NVDA", "2024-06-07", 1208.88)]


@pytest.mark.parametrize(
    ("arguments", "said"),
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
def test_a_file_that_will_not_do_is_one_line(sync, tmp_path, arguments, said):
    (tmp_path / "bars.csv").write_text(HEAD + BARS)
    csv.write_csv(pa.table({"ticker": ["A"], "date": ["2024-01-02"]}), tmp_path / "other.csv")
    done = sync(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
