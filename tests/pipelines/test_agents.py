"""The calls the data agents document, made against the sample lake."""

import pytest

from tests.agents.harness import ROOT, linter

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def test_the_sample_lake_answers_every_documented_call(story):
    assert linter.made(ROOT, str(story.lake.root)) == []
