from contextlib import closing

import pytest
from pydantic_ai import models

from forge.core.clock import Simulated
from forge.memory import Memory
from tests.messages_api import messages_api


@pytest.fixture
def memory(request, tmp_path):
    """A memory with the simulated clock of the module's CLOCK, or else with the real clock."""
    clock = getattr(request.module, "CLOCK", None)
    with closing(Memory(tmp_path / "forge", clock=clock and Simulated(*clock))) as outcome:
        yield outcome


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The working folder, with no settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("ANTHROPIC_API_KEY", "FORGE_LAKE", "FORGE_JOURNAL", "FORGE_CONFIG", "FORGE_SKILLS", "PITLAKE_LAKE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(autouse=True, scope="session")
def no_model_is_asked():
    """A guard against requests to real models. The tests' loopback server is allowed; see `test_anthropic`."""
    models.ALLOW_MODEL_REQUESTS = False


@pytest.fixture
def server():
    with messages_api() as outcome:
        yield outcome
