"""A mounted table is a dataset like any other: listed, described, queried, replayed, exported, reported."""

import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pitlake import cli
from pitlake.answers.receipts import replay
from pitlake.lake import Lake
from pitlake.mcp.server import server
from pitlake.session import connect
from tests.doors.mcp_client import service, talk
from tests.every import every

AS_OF = "2024-02-12T00:00:00Z"
TABLE = pa.table({
    "ticker": ["A", "A", "B", "C"],
    "eps": [1.0, 2.0, 3.0, 4.0],
    "published_at": ["2024-02-01", "2024-02-10T10:00:00-05:00", "2024-02-15", None],
})  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("mounted") / "lake")
    lake.mount(TABLE, "estimates", key=["ticker"], available_at="published_at")
    return lake


def run(lake, capfd, *arguments):
    assert cli.invoke([*arguments, "--lake", lake.location]) == 0
    return capfd.readouterr().out


def test_the_command_line_lists_and_describes_a_mounted_table(lake, capfd):
    document = json.loads(run(lake, capfd, "datasets", "--format", "json"))
    assert "estimates" in [dataset["name"] for dataset in document]
    content = {
        entry["name"]: entry["holds"]
        for entry in json.loads(run(lake, capfd, "datasets", "--as-of", AS_OF, "--format", "json"))
    }
    assert content["estimates"]["rows"] == 2
    assert run(lake, capfd, "describe", "estimates").startswith("# estimates: Mounted table estimates")
    assert json.loads(run(lake, capfd, "describe", "estimates", "--open", "--format", "json"))["holds"]["gaps"] == 1


def test_the_commands_gaps_and_diff_count_a_mounted_table(lake, capfd):
    counted = run(lake, capfd, "gaps", "--open", "--dataset", "estimates", "--format", "csv")
    assert counted.splitlines()[1] == "estimates,unverifiable,no knowledge time,1"
    since = ("--from", "2024-02-05T00:00:00Z", "--to", "2024-02-20T00:00:00Z")
    (change,) = json.loads(run(lake, capfd, "diff", *since, "--format", "json"))
    assert (change["dataset"], change["new"], change["revised"]) == ("estimates", 1, 1)


def test_an_agent_can_list_describe_and_query_a_mounted_table(lake):
    calls = [
        ("describe", {}),
        ("describe", {"name": "estimates"}),
        ("query", {"sql": "SELECT * FROM estimates"}),
        ("gaps", {"dataset": "estimates"}),
    ]
    answers = talk(server(service(lake.root)), *calls)
    assert every(not answer.is_error for answer in answers), answers
    listing, described, question, _ = (answer.structured_content for answer in answers)
    assert "estimates" in [dataset["name"] for dataset in listing["datasets"]]
    assert described["datasets"][0]["key"] == ["ticker"]
    assert {row["ticker"] for row in question["data"]} <= {"A", "B"}
    assert every(row["evidence"] == f"estimates#{row['ticker']}" for row in question["data"])


def test_an_answer_is_replayed_after_the_table_has_changed(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.mount(TABLE, "estimates", key=["ticker"], available_at="published_at")
    with connect(AS_OF, lake=lake) as session:
        result = session.sql("SELECT ticker, eps FROM estimates ORDER BY ALL")
        result.keep()
    lake.mount(TABLE.slice(2, 1), "estimates")
    assert replay(result.receipt, lake).rows() == result.rows() == [("A", 2.0)]


def test_a_mounted_table_can_be_exported_and_compacted(lake, tmp_path, capfd):
    run(lake, capfd, "export", "--as-of", AS_OF, "--to", str(tmp_path / "copy"), "--dataset", "estimates")
    copied = DeltaTable(tmp_path / "copy" / "estimates").to_pyarrow_table()
    assert copied.select(["ticker", "eps"]).to_pylist() == [{"ticker": "A", "eps": 2.0}]
    run(lake, capfd, "compact", "estimates", "--before", "2024-03")
    with connect(AS_OF, lake=lake, datasets=["estimates"]) as session:
        assert session.sql("SELECT ticker, eps FROM estimates").rows() == [("A", 2.0)]


def test_the_report_has_a_page_for_a_mounted_table(lake, tmp_path, capfd):
    run(lake, capfd, "report", "--output", str(tmp_path / "report"))
    assert [path for path in (tmp_path / "report").rglob("*estimates*") if path.stem == "estimates"]
