"""The notebooks run from the top on any lake, and the magic queries as of the instant on its line."""

from pathlib import Path
from xml.etree import ElementTree as ET

import nbclient
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from pitlake.bars import ROW_LENGTH
from pitlake.errors import BadInput, BadInstant, SessionLost
from pitlake.notebook import Bars
from scripts.run_notebooks import digest
from tests.doors.conftest import AS_OF

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_the_top(path, lake, monkeypatch):
    monkeypatch.setenv("PITLAKE_LAKE", str(lake))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": "."}}
    )
    client.execute()
    assert any(cell.get("outputs") for cell in notebook.cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_with_the_outputs_of_its_current_cells(path):
    """`make notebooks` runs them on the demo's lake. After a change to a cell, its notebook must be run again."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.pitlake.ran == digest(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [*range(1, len(cells) + 1)]
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any({"image/svg+xml", "text/html"} & {*output.get("data", {})} for output in outputs)


def test_bars_are_drawn_in_proportion_and_names_are_text():
    drawn = Bars("<so> many", {"a": 4, "b&": 1, "none": 0})._repr_svg_()
    picture = ET.fromstring(drawn)
    tag = "{http://www.w3.org/2000/svg}"
    assert [float(bar.get("width")) for bar in picture.iter(f"{tag}rect")] == [ROW_LENGTH, ROW_LENGTH / 4, 0]
    assert [text.text for text in picture.iter(f"{tag}text")] == ["<so> many", "a", "4", "b&", "1", "none", "0"]
    assert "NaN" not in Bars("nothing", {"a": 0})._repr_svg_() + Bars("empty", {})._repr_svg_()


@pytest.fixture
def shell(lake, monkeypatch):
    monkeypatch.setenv("PITLAKE_LAKE", str(lake))
    monkeypatch.setenv("IPYTHONDIR", str(lake.parent / "ipython"))
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "pitlake.notebook")
    yield shell
    shell.run_line_magic("unload_ext", "pitlake.notebook")
    InteractiveShell.clear_instance()


def test_a_cell_is_answered_as_of_the_instant_on_its_magic_line(shell):
    early = shell.run_cell_magic("asof", "2024-01-03T12:00:00-05:00", "SELECT id FROM news ORDER BY id")
    assert list(early.id) == ["bzNews_0", "bzNews_1"]
    assert len(shell.run_cell_magic("asof", AS_OF, "SELECT id FROM news")) == 120


def test_a_variable_of_the_notebook_is_bound_not_pasted(shell):
    shell.user_ns["wanted"] = "' OR true --"
    result = shell.run_cell_magic("asof", AS_OF, "SELECT id FROM news WHERE id = $wanted")
    assert result.empty


def test_into_stores_the_result_with_its_receipt(shell):
    shell.run_cell_magic("asof", f"{AS_OF} --into kept", "SELECT 1 AS n")
    assert shell.user_ns["kept"].receipt.as_of == AS_OF


def test_cells_of_the_same_instant_share_a_session(shell):
    shell.run_cell_magic("asof", AS_OF, "CREATE TEMP TABLE mine AS SELECT 41 AS n")
    assert list(shell.run_cell_magic("asof", AS_OF, "SELECT n + 1 AS m FROM mine").m) == [42]
    session = shell.magics_manager.magics["cell"]["asof"].__self__.session
    shell.run_cell_magic("asof", "2024-02-01T00:00:00Z", "SELECT 1 AS n")
    with pytest.raises(SessionLost):
        session.sql("SELECT 1")


@pytest.mark.parametrize(
    ("line", "cell", "error"),
    [
        ("", "SELECT 1", BadInput),
        ("2024-05-01", "SELECT 1", BadInstant),
        (f"{AS_OF} --open", "SELECT 1", BadInput),
        (AS_OF, "SELECT $nowhere_set", BadInput),
        (f"{AS_OF} --as-off", "SELECT 1", BadInput),
        (f"{AS_OF} --version two", "SELECT 1", BadInput),
    ],
)
def test_a_bad_magic_line_is_refused(shell, line, cell, error):
    with pytest.raises(error):
        shell.run_cell_magic("asof", line, cell)
