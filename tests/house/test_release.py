"""The version and date of a release agree in every place; `make release` itself needs the package index."""

import json
import subprocess
from importlib import metadata

import pytest
import yaml

from pitlake import __version__
from scripts.release import bill, digest, main, provenance


def test_every_release_file_has_the_same_version_and_name(root):
    server, citation = (
        json.loads((root / "server.json").read_text()),
        yaml.safe_load((root / "CITATION.cff").read_text()),
    )
    (package,) = server["packages"]
    assert {server["version"], package["version"], str(citation["version"])} == {__version__}
    assert f"## {__version__}" in (root / "CHANGELOG.md").read_text()
    assert f"mcp-name: {server['name']}" in (root / "README.md").read_text()
    assert len(server["description"]) <= 100


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_the_plug_in_starts_the_server_as_of_its_variable(root, tmp_path, kind):
    plugin = root / "plugins/pitlake"
    manifest = json.loads((plugin / f".{kind}-plugin/plugin.json").read_text())
    assert (manifest["name"], manifest["version"]) == ("pitlake", __version__)
    server = json.loads((plugin / ".mcp.json").read_text())["mcpServers"]["pitlake"]
    (tmp_path / "uvx").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
    (tmp_path / "uvx").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "PITLAKE_AS_OF": "2010-01-26 09:30 America/New_York"}
    command = [server["command"], *server["args"]]
    words = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    assert words == ["--from", "pitlake[mcp]", "pitlake", "mcp", "--as-of", environment["PITLAKE_AS_OF"]]
    assert set(environment) - {"PATH"} <= set(server["env_vars"])


@pytest.mark.parametrize("catalogue", [".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json"])
def test_a_marketplace_file_names_the_plugins_folder(root, catalogue):
    (plugin,) = json.loads((root / catalogue).read_text())["plugins"]
    source = plugin["source"]
    folder = root / (source if isinstance(source, str) else source["path"])
    assert (folder / ".mcp.json").is_file()


def test_the_provenance_statement_names_the_commit_and_file_hashes(tmp_path, root):
    wheel = tmp_path / "pitlake-0.1.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    statement = provenance([wheel])
    assert statement["subject"] == [{"name": wheel.name, "digest": {"sha256": digest(wheel)}}]
    head = subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout
    sources = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert sources[0]["digest"] == {"gitCommit": head.strip()}
    assert sources[1]["digest"] == {"sha256": digest(root / "requirements.lock")}


def test_the_bill_of_materials_names_every_package_once():
    parts = bill(metadata.distributions(name="pyarrow"))
    (component,) = parts["components"]
    assert component["purl"] == f"pkg:pypi/pyarrow@{metadata.version('pyarrow')}"


def test_a_release_into_a_folder_that_is_not_empty_is_refused(tmp_path, capsys):
    (tmp_path / "old.whl").touch()
    assert main([str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
