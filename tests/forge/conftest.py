import pytest
from pydantic_ai import models

from forge.memory import Memory
from tests.messages_api import messages_api


@pytest.fixture
def memory(tmp_path):
    outcome = Memory(tmp_path / "forge")
    yield outcome
    outcome.close()


@pytest.fixture(autouse=True, scope="session")
def no_model_is_asked():
    """Only the loopback server of the tests is called; see `test_anthropic`."""
    models.ALLOW_MODEL_REQUESTS = False


@pytest.fixture
def server():
    with messages_api() as outcome:
        yield outcome
