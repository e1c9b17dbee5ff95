"""Secrets of providers: reads them, and keeps them out of everything that is written.

They come from the environment, otherwise from `.env` in the working directory. They are added to a request at the last
moment, and removed from answers, which may echo them, before anything is stored.
"""

import base64
import html
import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from urllib.parse import quote, quote_plus

from dotenv import dotenv_values

from pitlake.errors import BadInput

SHORTEST = 8
_ESCAPE = re.compile(r"%[0-9A-F]{2}")
WIRE_LOGGERS = ("urllib3.connectionpool", "urllib3.util.retry", "requests.sessions")


def setting(names: Iterable[str]) -> str | None:
    """Return the first of these variables that is set in the environment or in ./.env, or None."""
    candidates = tuple(names)
    for source in (os.environ, _dotenv(Path(".env").absolute())):
        for name in candidates:
            value = (source.get(name) or "").strip()
            if value:
                return value
    return None


def _dotenv(path: Path) -> Mapping[str, str | None]:
    try:
        return _parsed(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        return {}


@cache
def _parsed(path: Path, _modified: int) -> Mapping[str, str | None]:
    return dotenv_values(path, interpolate=False)


class Secrets:
    """The secrets of one provider, by name in requests, each read from environment variables.

    public: values in the same place that are not secret, such as a provider's public demo key.
    """

    def __init__(self, provider: str, variables: Mapping[str, tuple[str, ...]], public: tuple[str, ...] = ()) -> None:
        self._provider, self._variables, self._public = provider, variables, frozenset(public)

    def values(self) -> dict[str, str]:
        """Return every secret by name. Raises BadInput, which shows a missing variable but never a value."""
        secrets = {}
        for name, variables in self._variables.items():
            value = setting(variables)
            if value is None:
                raise BadInput(
                    variables[0], f"{self._provider} needs it and it is not set", "set it, or put it in .env"
                )
            if len(value) < SHORTEST and value not in self._public:
                raise BadInput(variables[0], "is too short to be a key", "check what it is set to")
            secrets[name] = value
        return secrets

    def spellings(self) -> dict[bytes, str]:
        """Return every form in which a secret may be echoed, with the secret's name."""
        spellings: dict[bytes, str] = {}
        for name, variables in self._variables.items():
            for value in filter(None, (setting([variable]) for variable in variables)):
                if value not in self._public and len(value) >= SHORTEST:
                    spellings |= {spelling.encode(): name for spelling in _spellings(value)}
        return spellings


def spelled(values: Mapping[str, str]) -> dict[bytes, str]:
    """Return every form in which these secrets may be echoed, with their names."""
    long = {name: value for name, value in values.items() if len(value) >= SHORTEST}
    return {spelling.encode(): name for name, value in long.items() for spelling in _spellings(value)}


def _spellings(value: str) -> Iterator[str]:
    for quoted in (quote(value, safe=""), quote_plus(value), quote(value)):
        yield from (quoted, _ESCAPE.sub(lambda match: match[0].lower(), quoted))
    for plain in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1], html.escape(value)):
        yield from (plain, plain.replace("/", "\\/"))
    yield base64.b64encode(value.encode()).decode().rstrip("=")


def redact(content: bytes, spellings: Mapping[bytes, str]) -> tuple[bytes, int]:
    """Return the content with every secret replaced by its name, and the number of replacements.

    The longest secrets are replaced first, so that no part of a secret that contains another secret remains.
    """
    count = 0
    for spelling, name in sorted(spellings.items(), key=lambda pair: -len(pair[0])):
        if spelling in content:
            count += content.count(spelling)
            content = content.replace(spelling, f"[redacted {name}]".encode())
    return content, count


class Mask(logging.Filter):
    """A log filter that removes secrets, because at debug level the HTTP libraries log whole URLs."""

    def __init__(self, spellings: Mapping[bytes, str]) -> None:
        super().__init__()
        self._spellings = spellings

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the record, and always pass it on."""
        text = record.getMessage()
        masked, count = redact(text.encode(), self._spellings)
        if count:
            record.msg, record.args = masked.decode(), None
        return True


def masked_wire(spellings: Mapping[bytes, str]) -> list[tuple[logging.Logger, Mask]]:
    """Mask the HTTP libraries' loggers, and return the masks for `unmask`."""
    masks = [(logging.getLogger(name), Mask(spellings)) for name in WIRE_LOGGERS] if spellings else []
    for logger, mask in masks:
        logger.addFilter(mask)
    return masks


def unmask(masks: Iterable[tuple[logging.Logger, Mask]]) -> None:
    for logger, mask in masks:
        logger.removeFilter(mask)
