"""Texts as vectors, by the bundled model or another one. Nothing here uses the network.

The model's weights are in the package wordllama, so a text has the same vector on every machine and day. The model is
loaded at its first use. $PITLAKE_EMBEDDER names the model of the graph's own vectors as `package.module:name`, a
function that returns a text's numbers. SQL receives only the vector.
"""

import logging
import os
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from pitlake.errors import BadInput
from pitlake.questions.parameters import spell

VARIABLE = "PITLAKE_EMBEDDER"
NEXT_STEP = f"set ${VARIABLE} to package.module:function of the model of the graph's vectors, or leave it unset"
MODEL = "wordllama-l2-supercat-256"
"""The name of the bundled model in `text_vectors.model`."""

Embedder = Callable[[str], Sequence[float]]


def embed(text: str, embedder: Embedder | None = None) -> list[float]:
    """Return a text's vector by the given model, or the configured one.

    Raises BadInput if the configured one is missing or returns no vector; errors of the model itself are not caught.
    """
    return list(spell("vector", "embedding", (embedder or configured() or own)(text)))


def own(text: str) -> list[float]:
    """Return a text's vector of 256 numbers and length 1 by the bundled model; all 0 without a known word.

    Raises BadInput if the extra `meaning` is not installed.
    """
    vector: list[float] = _loaded().embed([text], norm=False)[0].tolist()
    length = sum(number * number for number in vector) ** 0.5
    return [number / length for number in vector] if length else vector


def configured() -> Embedder | None:
    """Return the model in $PITLAKE_EMBEDDER; None if that is not set. Raises BadInput if it can't be called."""
    path = os.environ.get(VARIABLE, "")
    if not path:
        return None
    module, _, name = path.partition(":")
    try:
        function = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        raise BadInput(VARIABLE, f"{path!r} is not a function that can be imported", NEXT_STEP) from None
    if not callable(function):
        raise BadInput(VARIABLE, f"{path!r} can't be called", NEXT_STEP)
    embedder: Embedder = function
    return embedder


@cache
def _loaded() -> Any:
    # Importing it would configure a root logger without handlers and so show messages of every library.
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        import wordllama
    except ImportError:
        raise BadInput("embedding", "the model of texts is not installed", "pip install 'pitlake[meaning]'") from None
    finally:
        root.removeHandler(handler)

    # The package's folder has the weights and the tokenizer; without this argument, version 0.4 searches another folder
    # and the network.
    folder = Path(str(wordllama.__file__)).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
