"""Fixtures shared by the tests of `pitlake sync`: a fake EDGAR on a local server, and the command, run in this process
or in another.
"""

import pytest

from pitlake import cli
from tests.cli.conftest import Said
from tests.loopback import Answer, Loopback
from tests.pipelines.sync.edgar import Company, answers, made

CONTACT = "Jane Doe jane@example.com"
KEYS = ("FRED_API_KEY", "ALFRED_API_KEY", "ALPHAVANTAGE_API_KEY", "ALPHA_VANTAGE_API_KEY", "POLYGON_API_KEY")


class Edgar:
    """A local server with the fake EDGAR."""

    def __init__(self, companies: list[Company]) -> None:
        self.companies, self.server = companies, Loopback()
        self.publish()

    def publish(self) -> None:
        """Serve everything that the companies have filed."""
        self.server.reset()
        for path, body in answers(self.companies).items():
            self.server.plays(path, Answer(body, headers={"content-type": "application/json"}))

    @property
    def asked(self) -> list[str]:
        return [path for _, path, _, _ in self.server.asked]


@pytest.fixture
def edgar(monkeypatch, tmp_path):
    result = Edgar(made(3))
    monkeypatch.setenv("PITLAKE_SEC_EDGAR_URL", result.server.url)
    monkeypatch.setenv("SEC_EDGAR_USER_AGENT", CONTACT)
    monkeypatch.setenv("PITLAKE_LAKE", str(tmp_path / "lake"))
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    yield result
    result.server.close()


@pytest.fixture
def sync(edgar, capfdbinary):
    """A function that runs `pitlake sync` in this process."""

    def run(*arguments: str) -> Said:
        edgar.server.asked.clear()
        capfdbinary.readouterr()
        code = cli.invoke(("sync", *arguments))
        output = capfdbinary.readouterr()
        return Said(code, output.out.decode(), output.err.decode())

    return run
