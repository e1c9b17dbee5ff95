"""Fixtures shared by the tests of the HTTP layer: a local server, an empty store, and a provider with a planted key."""

import pytest

from resources.http.capture import CaptureStore
from resources.http.client import HttpClient
from resources.http.provider import Provider
from tests.loopback import Loopback

KEY = "plånted/key+with&odd=\"signs'"
TOY = Provider(name="toy", base_url="https://toy.example", rate=(1000, 1.0), secrets={"apikey": ("TOY_API_KEY",)})


@pytest.fixture(scope="session")
def server():
    server = Loopback()
    yield server
    server.close()


@pytest.fixture
def loopback(server, monkeypatch, tmp_path):
    server.reset()
    monkeypatch.setenv("PITLAKE_TOY_URL", server.url)
    monkeypatch.setenv("TOY_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    return server


@pytest.fixture
def store(tmp_path):
    return CaptureStore(tmp_path / "captures")


@pytest.fixture
def client(store):
    """A function that makes a client, which by default does not wait between attempts."""
    session = []

    def make(mode="live", provider=TOY, **settings):
        outcome = HttpClient(provider, store, mode, pause=settings.pop("pause", lambda _: None), **settings)
        session.append(outcome)
        return outcome

    yield make
    for item in session:
        item.close()
