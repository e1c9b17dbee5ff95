"""Shared fixtures of AsOfBench's tests: replies of systems that run in this interpreter, on a few worlds."""

from dataclasses import asdict

import pytest

from asofbench.generate import SEED, cases
from asofbench.run import graded
from asofbench.systems import BY_NAME
from asofbench.worker import output_kept, replies

WORLDS = ("bars", "estimates", "macro", "memory")
"""Together these worlds cover every class and every distance of the future."""


@pytest.fixture(scope="session")
def found():
    return cases()


@pytest.fixture(scope="session")
def scored(found):
    """A function that returns the verdicts on a system, given by name or card, and computes them once for all tests."""
    remaining = {}

    def score(name, worlds=WORLDS, classes=()):
        if (name, worlds, classes) not in remaining:
            with output_kept() as log:
                message = [
                    (case, which, asdict(reply))
                    for case, which, reply in replies(BY_NAME.get(name, name), SEED, worlds, log, classes)
                ]
            remaining[name, worlds, classes] = graded(found, message)
        return remaining[name, worlds, classes]

    return score
