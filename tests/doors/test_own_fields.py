"""Fields of a mounted table in a panel, next to line items and bars."""

from datetime import date

import pyarrow as pa
import pytest

from pitlake import cli
from pitlake.answers.panel import panel
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.report import site

ROWS = [
    ("XA", date(2024, 1, 31), 1.0, "2024-02-01T10:00:00Z"),
    ("XA", date(2024, 1, 31), 1.5, "2024-03-10T10:00:00Z"),  # restated
    ("XA", date(2024, 6, 30), 9.0, "2024-02-02T10:00:00Z"),  # about a future day
    ("XB", date(2024, 2, 29), 2.0, "2024-03-01T10:00:00Z"),
]
AT = ["2024-01-31T12:00:00Z", "2024-03-01T12:00:00Z", "2024-04-01T12:00:00Z", "2024-07-02T12:00:00Z"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    outcome = Lake(tmp_path_factory.mktemp("own") / "lake")
    rows = [dict(zip(("symbol", "day", "score", "at"), row, strict=True)) for row in ROWS]
    outcome.mount(pa.Table.from_pylist(rows), "scores", key=["symbol", "day"], available_at="at")
    outcome.mount(pa.table({"id": [1], "at": ["2024-01-01T00:00:00Z"]}), "plain", key="id", available_at="at")
    return outcome


def test_a_panel_field_has_the_value_public_at_its_rows_instant(lake):
    result = panel("XA,XB", "scores.score,close", instants=AT, lake=lake, isolation="in_process", proof=True)
    assert result.columns == ["ticker", "date", "at", "scores.score", "scores.score_public_at", "close"]
    assert result.arrow()["scores.score"].to_pylist() == [None, 1.0, 1.5, 9.0, None, 2.0, 2.0, 2.0]
    public = result.arrow()["scores.score_public_at"].to_pylist()
    assert [at and at.isoformat()[:10] for at in public[:4]] == [None, "2024-02-01", "2024-03-10", "2024-02-02"]
    assert len(result.receipts) == 1 + 8


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("score.score", "there is no mounted table 'score'; did you mean scores?"),
        ("scores.scor", "scores has no column 'scor'; did you mean score?"),
        ("plain.id", "plain does not name companies: .*; mount it with a column cik or ticker or symbol"),
    ],
)
def test_an_unknown_field_is_refused_in_one_line(lake, fields, message):
    with pytest.raises(BadInput, match=message) as raised:
        panel("XA", fields, instants=AT, lake=lake, isolation="in_process")
    assert len(str(raised.value)) < 200


def test_an_error_about_an_unknown_table_names_the_option_typed(lake, capsys):
    tried = ["panel", "--tickers", "XA", "--since", "2024", "--fields", "score.score", "--lake", str(lake.root)]
    assert cli.invoke(tried) == 2
    assert capsys.readouterr().err == "pitlake: --fields: there is no mounted table 'score'; did you mean scores?\n"
    tried = ["panel", "--universe", "score", "--since", "2024", "--fields", "close", "--lake", str(lake.root)]
    assert cli.invoke(tried) == 2
    assert capsys.readouterr().err == "pitlake: --universe: there is no mounted table 'score'; did you mean scores?\n"


def test_mount_and_report_show_progress_in_percent(lake, tmp_path):
    message = []
    rows = pa.table({"id": [1, 2], "at": ["2024-01-01T00:00:00Z"] * 2})
    Lake(tmp_path).mount(rows, "plain", key="id", available_at="at", progress=message.append)
    assert message == ["mounting: 2 of 2 rows (100%)"]
    contracts = {name: lake.contracts()[name] for name in ("plain", "scores")}
    site.read(lake, contracts=contracts, progress=message.append)
    assert message[-1] == "reading the lake: 1 of 2 datasets (50%)"


def test_a_panel_shows_progress_in_percent(lake):
    from pitlake.answers.panel import PanelQuestion, ask_panel
    from pitlake.session import Viewpoint

    message = []
    question = PanelQuestion.parse("XA", "scores.score", instants=AT)
    ask_panel(question, Viewpoint.parse(AT[-1], lake=lake, isolation="in_process"), message.append)
    assert message[-1] == "own tables: 3 of 4 instants (75%)"
