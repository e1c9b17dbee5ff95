"""Paths into an answer: `data.results[]`, `bars.{symbol}[]`, or empty for the whole answer.

A name is a member, `[]` is every element of a list, and `{name}` is every member of an object. The key of such a member
is added to the item under that name.
"""

import re
from collections.abc import Iterator
from typing import Any

_STEP = re.compile(r"\{([A-Za-z_]\w*)\}|([^.\[\]{}]+)|(\[\])")


class NoSuchPlace(LookupError):
    """An answer does not have the form that a path describes."""


class Place:
    """A path, parsed once. Raises ValueError for a text that is not a path."""

    def __init__(self, text: str) -> None:
        self._steps: list[tuple[str, str]] = []
        position = 0
        while position < len(text):
            shape = _STEP.match(text, position)
            if shape is None:
                raise ValueError(f"{text!r} is not a path; give one such as data.results[] or bars.{{symbol}}[]")
            key, name, _ = shape.groups()
            self._steps.append(("key", key) if key else ("name", name) if name else ("each", ""))
            position = shape.end()
            if text[position : position + 1] == "." and position + 1 < len(text):
                position += 1

    def items(self, answer: Any) -> Iterator[tuple[Any, dict[str, str]]]:
        """Yield the values at the path, with the keys on the way. Raises NoSuchPlace."""
        yield from self._walk(answer, 0, {})

    def first(self, answer: Any) -> Any:
        """Return the value at the path; None if there is no such value."""
        try:
            return next((value for value, _ in self.items(answer)), None)
        except NoSuchPlace:
            return None

    def _walk(self, value: Any, position: int, keys: dict[str, str]) -> Iterator[tuple[Any, dict[str, str]]]:
        if position == len(self._steps):
            yield value, keys
            return
        kind, name = self._steps[position]
        if kind == "each":
            if not isinstance(value, list):
                raise NoSuchPlace
            for member in value:
                yield from self._walk(member, position + 1, keys)
        elif not isinstance(value, dict) or (kind == "name" and name not in value):
            raise NoSuchPlace
        elif kind == "name":
            yield from self._walk(value[name], position + 1, keys)
        else:
            for key, member in value.items():
                yield from self._walk(member, position + 1, keys | {name: key})
