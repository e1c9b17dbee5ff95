"""Run the notebooks on the lake at PITLAKE_LAKE, and store their output with a hash of their cells."""

import hashlib
import sys
from pathlib import Path

import nbclient
import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs" / "notebooks"


def digest(notebook: nbformat.NotebookNode) -> str:
    """Return the hash of a notebook's cells, without their output."""
    return hashlib.sha256("\0".join(cell.source for cell in notebook.cells).encode()).hexdigest()


def main() -> int:
    """Run all notebooks. Raises nbclient's errors if a cell fails."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", record_timing=False).execute()
        notebook.metadata = {
            "kernelspec": notebook.metadata.kernelspec,
            "language_info": {"name": "python"},
            "pitlake": {"ran": digest(notebook)},
        }
        nbformat.write(notebook, path)
        print(path.relative_to(Path.cwd()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
