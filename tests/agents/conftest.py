"""Fixtures of the agents' tests: one lake for all test processes, and both of its servers."""

import pytest

from tests.agents import harness, world
from tests.shared import build_once, shared_folder


@pytest.fixture(scope="session")
def marked_lake(tmp_path_factory):
    """The root of the lake with the marked future, built by the first test process that needs it."""
    return build_once(shared_folder(tmp_path_factory) / "agents", lambda root: world.build(root / "lake")) / "lake"


@pytest.fixture(scope="session")
def stage(marked_lake, tmp_path_factory):
    with harness.stage(tmp_path_factory.mktemp("stage"), marked_lake) as played:
        yield played


@pytest.fixture
def env(tmp_path):
    """An unbound session's environment for hooks."""
    return {"PITLAKE_HOOK_LOG": str(tmp_path / "hooks.jsonl"), "PATH": "/usr/bin:/bin"}


@pytest.fixture
def bound(env):
    return env | {"PITLAKE_AS_OF": world.PIT}
