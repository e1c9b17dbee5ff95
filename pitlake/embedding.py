"""The seam to a local embedding model: text in, vector out. None comes along, and nothing here goes to a network.

$PITLAKE_EMBEDDER names it as `package.module:name`, where `name` is called with a text and gives its numbers; it must
be the model the stored vectors come from. SQL takes the vector alone.
"""

import os
from collections.abc import Callable, Sequence
from importlib import import_module

from pitlake.errors import BadInput
from pitlake.parameters import spell

VARIABLE = "PITLAKE_EMBEDDER"
NEXT_STEP = f"set ${VARIABLE} to package.module:function of the model the stored vectors come from, or give a seed_id"

Embedder = Callable[[str], Sequence[float]]


def embed(text: str, embedder: Embedder | None = None) -> list[float]:
    """A text's vector, by the given model or the configured one.

    Raises BadInput when none is configured or it gives no vector; what the model itself raises passes through.
    """
    return list(spell("vector", "embedding", (embedder or configured())(text)))


def configured() -> Embedder:
    """The model that $PITLAKE_EMBEDDER names. Raises BadInput when it is unset or names nothing that can be called."""
    named = os.environ.get(VARIABLE, "")
    if not named:
        raise BadInput("embedding", "no local model is configured", NEXT_STEP)
    module, _, name = named.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError):
        raise BadInput(VARIABLE, f"{named!r} names no function that can be imported", NEXT_STEP) from None
    if not callable(found):
        raise BadInput(VARIABLE, f"{named!r} can't be called", NEXT_STEP)
    embedder: Embedder = found
    return embedder
