"""What is built from the checkout: complete, and working where there is no checkout."""

import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile

import pytest

from pitlake.lake.lake import Lake
from tests.cli.conftest import AFTER, BEFORE, CREATED, article, publish


@pytest.fixture(scope="module")
def built(root, tmp_path_factory):
    """The source archive, and the wheel made from that archive."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(target), str(root)]
    subprocess.run(command, check=True, capture_output=True, timeout=180)
    return {"sdist": next(target.glob("*.tar.gz")), "wheel": next(target.glob("*.whl"))}


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A fresh environment with the wheel in it; the dependencies are this environment's, to be quick."""
    home = tmp_path_factory.mktemp("installed")
    venv.create(home / "env", with_pip=False)
    site = next((home / "env").glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    with zipfile.ZipFile(built["wheel"]) as wheel:
        wheel.extractall(site)
    return home


def pitlake(installed, *arguments):
    command = [str(installed / "env/bin/python"), "-c", "from pitlake.cli import main; main()", *arguments]
    return subprocess.run(command, cwd=installed, capture_output=True, text=True, timeout=120, check=False, env={})


def test_the_wheel_carries_code_and_sql_but_no_tests(built):
    names = zipfile.ZipFile(built["wheel"]).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {"pitlake", "forge", "assets", "checks", "resources", "pipelines", "sql", "sample"} <= tops
    assert any(name.startswith("sql/views/") and name.endswith(".sql") for name in names)
    assert not tops & {"tests", "bench", "docs", "scripts"}


def test_the_wheel_declares_its_command(built):
    with zipfile.ZipFile(built["wheel"]) as wheel:
        entry = next(name for name in wheel.namelist() if name.endswith("entry_points.txt"))
        assert "pitlake = pitlake.cli:main" in wheel.read(entry).decode()


def test_the_source_archive_can_run_its_own_tests(built):
    with tarfile.open(built["sdist"]) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"Makefile", "requirements.lock", "scripts/set-up", "tests/house/conftest.py", ".ci/run"} <= names


def test_the_installed_wheel_answers_outside_the_checkout(installed):
    assert "query" in pitlake(installed, "--help").stdout
    described = pitlake(installed, "describe", "news")
    assert described.returncode == 0, described.stderr
    assert described.stdout.startswith("# news")


def test_the_installed_wheel_asks_a_lake_as_of_an_instant(installed, tmp_path):
    lake = Lake(tmp_path / "lake")
    publish(lake, "run", [article(1, "Title", CREATED)])
    counts = [
        pitlake(
            installed, "query", "--lake", str(lake.root), "--as-of", instant, "--format", "csv", "SELECT id FROM news"
        )
        for instant in (BEFORE, AFTER)
    ]
    assert [said.returncode for said in counts] == [0, 0], counts
    assert [said.stdout for said in counts] == ["id\n", "id\nbzNews_1\n"]
