import pytest

from forge.memory import Memory


@pytest.fixture
def memory(tmp_path):
    made = Memory(tmp_path / "forge")
    yield made
    made.close()
