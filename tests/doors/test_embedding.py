"""The seam to a local embedding model: called as configured, and a clear refusal when it is not."""

import pytest

from pitlake.embedding import VARIABLE, embed
from pitlake.errors import BadInput


def length(text):
    return [float(len(text)), 1.0]


def test_the_model_given_or_configured_makes_the_vector(monkeypatch):
    assert embed("four", length) == [4.0, 1.0]
    monkeypatch.setenv(VARIABLE, f"{__name__}:length")
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("types").SimpleNamespace(length=length))
    assert embed("seven..") == [7.0, 1.0]


@pytest.mark.parametrize("named", ["", "no_such_module:name", "math:no_such_name", "math:pi", "math", ":", "a b:c"])
def test_a_model_that_is_not_there_is_refused_with_the_next_step(monkeypatch, named):
    monkeypatch.setenv(VARIABLE, named)
    with pytest.raises(BadInput, match=VARIABLE):
        embed("text")


@pytest.mark.parametrize("given", [[], [0.0], ["1"], None])
def test_a_model_that_gives_no_vector_is_refused(given):
    with pytest.raises(BadInput, match="embedding"):
        embed("text", lambda text: given)
