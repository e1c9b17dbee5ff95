"""A new user: a fresh checkout, an empty home, and the demo, which is built once per session."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT

PATIENCE = 900


@dataclass
class Newcomer:
    """A user with a checkout, a home, and a shell environment that only typed commands change."""

    checkout: Path
    env: dict[str, str]

    def type(self, line: str) -> str:
        """Run a line in a shell that remembers its exports, and return the output. Fails unless it exits with 0."""
        remaining = self.checkout.parent / "exported"
        message = subprocess.run(
            ["sh", "-c", f"{line}\nended=$?; env -0 > '{remaining}'; exit $ended"],
            cwd=self.checkout, env=self.env, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert message.returncode == 0, f"{line}\n{message.stdout[-2000:]}\n{message.stderr[-4000:]}"
        reply = dict(each.split("=", 1) for each in remaining.read_text().split("\0") if each)
        self.env = {name: value for name, value in reply.items() if name not in ("_", "SHLVL", "PWD", "OLDPWD")}
        return message.stdout

    @contextmanager
    def serving(self, line: str) -> Iterator[None]:
        """Run a command in the background until the block ends, then interrupt it."""
        with (self.checkout.parent / "served").open("w") as log:
            running = subprocess.Popen(
                ["sh", "-c", f"exec {line}"],
                cwd=self.checkout, env=self.env, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            try:
                yield
            finally:
                os.killpg(running.pid, signal.SIGINT)
                running.wait(PATIENCE)


@pytest.fixture(scope="session")
def newcomer(tmp_path_factory):
    if not (ROOT / ".git").exists() or shutil.which("make") is None:
        pytest.skip("needs a checkout and make")
    place = tmp_path_factory.mktemp("newcomer")
    checkout = place / "pitlake"
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listing, cwd=ROOT, capture_output=True, check=True, text=True).stdout.split("\0"):
        if name and (ROOT / name).is_file():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, checkout / name)
    (checkout / ".venv").mkdir()
    for installed in ("bin", "lib", "pyvenv.cfg"):
        (checkout / ".venv" / installed).symlink_to(Path(sys.prefix) / installed)
    (checkout / ".venv/.set-up").touch()  # otherwise the environment of the tests would be rebuilt for this checkout
    (place / "home").mkdir()
    path = (each for each in os.environ["PATH"].split(os.pathsep) if not Path(each).is_relative_to(ROOT))
    return Newcomer(checkout, {"HOME": str(place / "home"), "PATH": os.pathsep.join(path), "LANG": "C.UTF-8"})


@pytest.fixture(scope="session")
def demo(newcomer: Newcomer) -> Path:
    """The demo's folder: the market lake, the graph, Dagster's home and the tape of decisions."""
    if not (newcomer.checkout / ".pitlake/demo/lake").exists():
        newcomer.type("make demo")
    return newcomer.checkout / ".pitlake/demo"
