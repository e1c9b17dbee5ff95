"""The lock: complete for every supported Python, pinned by hash, and independent of the machine that made it."""

import json
import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.every import every

LINUX = {"sys_platform": "linux", "platform_machine": "x86_64", "os_name": "posix", "platform_system": "Linux"}
MAC = {"sys_platform": "darwin", "platform_machine": "arm64", "os_name": "posix", "platform_system": "Darwin"}
PYTHONS = ("3.11", "3.12", "3.13")
APART = ("spark",)
"""Extras that the lock leaves out because of their size. The Makefile installs each into a separate folder."""


@pytest.fixture(scope="module")
def locked(root) -> list[Requirement]:
    text = (root / "requirements.lock").read_text().replace("\\\n", "")
    return [Requirement(line.split("--hash")[0].strip()) for line in text.splitlines() if line and line[0] != "#"]


def declared(pyproject) -> list[Requirement]:
    project = pyproject["project"]
    extras = (extra for name, extra in project["optional-dependencies"].items() if name not in APART)
    texts = [*project["dependencies"], *(text for extra in extras for text in extra)]
    return [requirement for requirement in map(Requirement, texts) if requirement.name != "pitlake"]


def in_force(requirement, environment) -> bool:
    return requirement.marker is None or requirement.marker.evaluate(environment)


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("system", [LINUX, MAC], ids=["linux", "mac"])
def test_every_declared_requirement_is_pinned_once(pyproject, locked, python, system):
    environment = system | {"python_version": python, "python_full_version": f"{python}.1"}
    pins = {}
    for pin in locked:
        if in_force(pin, environment):
            assert canonicalize_name(pin.name) not in pins
            pins[canonicalize_name(pin.name)] = str(pin.specifier).removeprefix("==")
    for expected in declared(pyproject):
        if in_force(expected, environment):
            assert expected.specifier.contains(pins[canonicalize_name(expected.name)], prereleases=True), expected


def test_every_pin_carries_hashes(root):
    text = (root / "requirements.lock").read_text().replace("\\\n", "")
    unhashed = [line for line in text.splitlines() if line and not re.search(r"--hash=sha256:[0-9a-f]{64}", line)]
    assert unhashed == []


def test_the_lock_names_no_index_and_no_path(root):
    pin = re.compile(r"[\w.-]+==[\w.]+( ; [\w .'<>=!()]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?")
    assert every(map(pin.fullmatch, (root / "requirements.lock").read_text().splitlines()))


@pytest.mark.parametrize("extra", APART)
def test_packages_outside_the_lock_are_pinned_in_the_makefile_as_declared(root, pyproject, locked, extra):
    makefile = (root / "Makefile").read_text()
    expected = [Requirement(text) for text in pyproject["project"]["optional-dependencies"][extra]]
    assert expected
    assert not {each.name for each in expected} & {pin.name for pin in locked}
    for item in expected:
        variable = item.name.upper().replace("-", "_")
        pinned = re.search(rf"^{variable} \?= (\S+)$", makefile, re.MULTILINE)
        assert pinned
        assert item.specifier.contains(pinned[1])
        assert f"{item.name}==$({variable})" in makefile


NPM = ("axe", "claude-code-2.1.197", "claude-code-2.1.332", "inspector", "site")


def test_npm_packages_are_installed_only_from_lock_files(root):
    makefile = (root / "Makefile").read_text()
    assert not re.search(r"npm (install|i|add|exec)\b|\bnpx\b", makefile)
    called = re.findall(r"\$\(call NPM_CI,[\w-]+,([\w.$()-]+?)\)\n", makefile)
    pinned = re.search(r"^CLAUDE \?= (.+)$", makefile, re.MULTILINE)
    assert {name.replace("$(CLAUDE)", pinned[1]) for name in called} <= set(NPM)
    assert sorted(folder.name for folder in (root / "scripts" / "npm").iterdir()) == sorted(NPM)


@pytest.mark.parametrize("name", NPM)
def test_every_package_of_npm_has_a_hash_and_an_exact_version(root, name):
    folder = root / "scripts" / "npm" / name
    document = json.loads((folder / "package.json").read_text())["dependencies"]
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    assert packages.pop("")["dependencies"] == document
    assert every(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in document.values())
    assert every(package["integrity"].startswith("sha512-") for package in packages.values())
