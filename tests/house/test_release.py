"""What a release says of itself agrees in every place; `make release` itself needs the package index."""

import json
from importlib import metadata

import yaml

from pitlake import __version__
from scripts.release import bill, main


def test_every_file_has_the_same_version_and_name(root):
    server, citation = (
        json.loads((root / "server.json").read_text()),
        yaml.safe_load((root / "CITATION.cff").read_text()),
    )
    (package,) = server["packages"]
    assert {server["version"], package["version"], str(citation["version"])} == {__version__}
    assert f"## {__version__}" in (root / "CHANGELOG.md").read_text()
    assert f"mcp-name: {server['name']}" in (root / "README.md").read_text()
    assert len(server["description"]) <= 100


def test_the_bill_names_every_package_once():
    parts = bill(metadata.distributions(name="pyarrow"))
    (component,) = parts["components"]
    assert component["purl"] == f"pkg:pypi/pyarrow@{metadata.version('pyarrow')}"


def test_a_folder_that_is_not_empty_is_refused(tmp_path, capsys):
    (tmp_path / "old.whl").touch()
    assert main([str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
