"""Each stored notebook has the outputs of a run on the demo's lake. The demo is the one in the README's test."""

import nbclient
import nbformat
import pytest

from scripts.run_notebooks import NOTEBOOKS
from tests.house.newcomer import PATIENCE

pytestmark = [pytest.mark.long, pytest.mark.timeout(2 * PATIENCE), pytest.mark.xdist_group("newcomer")]


@pytest.mark.parametrize("name", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_notebook_run_on_the_demo_reproduces_its_stored_outputs(name, demo, root, monkeypatch):
    monkeypatch.chdir(root)
    monkeypatch.setenv("PITLAKE_LAKE", str(demo / "lake"))
    stored, run = (nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4) for _ in range(2))
    nbclient.NotebookClient(run, timeout=600, kernel_name="python3").execute()
    assert [shown(cell) for cell in run.cells] == [shown(cell) for cell in stored.cells]


def shown(cell: nbformat.NotebookNode) -> list[dict[str, str]]:
    """Return the contents of a cell's outputs."""
    return [dict(output.get("data", {"text/plain": output.get("text")})) for output in cell.get("outputs", ())]
