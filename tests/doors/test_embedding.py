"""Embedding texts with the bundled model or a configured one, and a clear error if the model is missing."""

import logging
import subprocess
import sys
from operator import mul

import pytest

from pitlake.errors import BadInput
from pitlake.questions.embedding import VARIABLE, _loaded, embed, own


def length(text):
    return [float(len(text)), 1.0]


def test_embed_uses_the_model_passed_or_configured(monkeypatch):
    assert embed("four", length) == [4.0, 1.0]
    monkeypatch.setenv(VARIABLE, f"{__name__}:length")
    monkeypatch.setitem(__import__("sys").modules, __name__, __import__("types").SimpleNamespace(length=length))
    assert embed("seven..") == [7.0, 1.0]


@pytest.mark.parametrize("names", ["no_such_module:name", "math:no_such_name", "math:pi", "math", ":", "a b:c"])
def test_a_missing_configured_model_is_refused_with_the_next_step(monkeypatch, names):
    monkeypatch.setenv(VARIABLE, names)
    with pytest.raises(BadInput, match=VARIABLE):
        embed("text")


@pytest.mark.parametrize("inputs", [[], [0.0], ["1"], None])
def test_a_model_that_gives_no_vector_is_refused(inputs):
    with pytest.raises(BadInput, match="embedding"):
        embed("text", lambda text: inputs)


def test_the_bundled_model_is_used_by_default(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    result = embed("The central bank raised interest rates")
    assert (len(result), sum(number * number for number in result)) == (256, pytest.approx(1))
    like, unlike = own("Fed hikes the policy rate by 25bp"), own("A recipe for apple pie")
    assert sum(map(mul, result, like)) > 0.4 > 0.15 > sum(map(mul, result, unlike))


def test_a_text_has_the_same_vector_in_every_process():
    script = "from pitlake.questions.embedding import own; print(own('Oil falls on demand fears'))"
    reply = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert reply.stdout.strip() == str(own("Oil falls on demand fears"))


def test_the_bundled_model_needs_no_network_and_loads_only_on_use():
    script = """
import socket, sys
def refused(*_): raise OSError("no network")
socket.socket.connect = socket.getaddrinfo = refused
import pitlake
assert "wordllama" not in sys.modules
from pitlake.questions.embedding import own
own("text")
"""
    reply = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (reply.returncode, reply.stderr) == (0, "")


def test_the_model_leaves_logging_as_it_was():
    script = """
import logging
from pitlake.questions.embedding import own
own("text")
logging.getLogger("elsewhere").info("chatter")
print(logging.getLogger().handlers, logging.getLogger().level)
"""
    reply = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (reply.stdout, reply.stderr) == (f"[] {logging.WARNING}\n", "")


def test_a_text_without_words_has_no_vector():
    with pytest.raises(BadInput, match="embedding"):
        embed("")


def test_without_the_package_the_next_step_is_to_install_it(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "wordllama", None)
    _loaded.cache_clear()
    with pytest.raises(BadInput, match=r"pitlake\[meaning\]"):
        embed("text")
