"""Forge's default models, and the training cut-offs that their makers state.

The default of each size is the newest model that answers without thinking first. Validation and compaction have low
token limits, which thinking would use up. As of 2026-11-23; the dataset `model_registry` overrides it.
"""

import re
from datetime import date
from typing import NamedTuple

DOCS = "https://platform.claude.com/docs/en/models/{}/overview"


class KnownModel(NamedTuple):
    """A model. trained_to: the last day of its training data, None where the maker does not state it; source: a URL.

    released: the day on which it became available; its training data can't be later.
    """

    model: str
    released: date
    trained_to: date | None
    source: str


KNOWN = (
    KnownModel("claude-opus-5", date(2026, 7, 24), date(2026, 5, 31), DOCS.format("opus-5")),
    KnownModel("claude-sonnet-5", date(2026, 6, 30), date(2026, 1, 31), DOCS.format("sonnet-5")),
    KnownModel("claude-opus-4-8", date(2026, 5, 28), None, DOCS.format("opus-4-8")),
    KnownModel("claude-sonnet-4-6", date(2026, 2, 17), None, DOCS.format("sonnet-4-6")),
    KnownModel("claude-haiku-4-5", date(2025, 10, 15), None, DOCS.format("haiku-4-5")),
)
DEFAULTS = {
    "opus": "anthropic:claude-opus-4-8",
    "sonnet": "anthropic:claude-sonnet-4-6",
    "haiku": "anthropic:claude-haiku-4-5",
}
_DATED = re.compile(r"-[0-9]{8}\Z")


def trained_to(model: str) -> date | None:
    """Return the latest day that a model's training data can reach, or None for an unknown model.

    It is the day that the maker states, else the model's release. model: an id, with or without its date.
    """
    undated = _DATED.sub("", model)
    return next((entry.trained_to or entry.released for entry in KNOWN if entry.model == undated), None)
