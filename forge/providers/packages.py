"""Providers from other packages, found by entry points or named in the settings. They are checked when they are
loaded.

Like the rows of Forge's own providers, their rows pass the lake's gate as of the turn's instant. A row without an
instant, or with a later instant, is refused.
"""

import re
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import entry_points
from inspect import cleandoc, iscoroutinefunction
from typing import Any

from forge.providers.base import At, FetchResult, Params, Provider, QueryProvider
from pitlake.answers.envelope import envelope
from pitlake.errors import BadInput

ENTRY_POINTS = "pitlake.forge.providers"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")


@dataclass(frozen=True)
class PackageProvider:
    """A provider from another package, behind the lake's gate. about: the docstring of its class, for /help."""

    name: str
    summary: str
    about: str
    provider: Provider

    async def fetch(self, params: Params, at: At) -> FetchResult:
        """Fetch data and pass it through the gate.

        Raises BadInput for an answer of the wrong type, EnvelopeRefused, and the provider's own errors.
        """
        result: object = await self.provider.fetch(params, at)
        if not isinstance(result, FetchResult):
            raise BadInput(
                self.name, f"its fetch returned a {type(result).__name__}", "return a FetchResult from fetch"
            )
        passed = envelope(result.rows, result.gaps, at.as_of)
        return replace(result, source=self.name, rows=tuple(passed["data"]), gaps=tuple(passed["gaps"]))


def installed_providers() -> list[tuple[str, str]]:
    """Return the name and the location of each provider that an installed package adds."""
    return sorted((point.name, point.value) for point in entry_points(group=ENTRY_POINTS))


def load_provider(field: str, name: str, place: str) -> Provider:
    """Return the provider at `package.module:Class`. An object that is not a class is used directly.

    field: its name in errors. Raises BadInput if it can't be imported or is not a provider of that name.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(field, f"{name[:40]!r} is not a name for a source", "use lower-case letters, digits and _")
    module, separator, attribute = place.partition(":")
    if not module or not separator or not attribute:
        raise BadInput(field, f"{place!r} is not a location", "write package.module:Class")
    try:
        provider: Any = getattr(import_module(module), attribute)
    except AttributeError:
        raise BadInput(field, f"{module} has no {attribute}", "write package.module:Class") from None
    except Exception as problem:
        reason = f"{module} can't be imported: {type(problem).__name__}: {problem}"
        raise BadInput(field, reason, "install its package, or remove it") from problem
    if isinstance(provider, type):
        try:
            provider = provider()
        except Exception as problem:
            reason = f"{place} can't be created: {type(problem).__name__}: {problem}"
            raise BadInput(field, reason, "fix this error; the class must need no arguments") from problem
    own_name, summary = getattr(provider, "name", None), getattr(provider, "summary", None)
    if own_name != name:
        raise BadInput(field, f"{place} has the name {own_name!r}", f"set its attribute name to {name!r}")
    if not isinstance(summary, str) or not summary.strip():
        raise BadInput(field, f"{place} has no summary", "set its attribute summary to one line")
    if not iscoroutinefunction(getattr(provider, "fetch", None)):
        raise BadInput(field, f"{place} has no async fetch", "define async def fetch(self, params, at)")
    if type(provider) is QueryProvider:
        return provider
    return PackageProvider(name, " ".join(summary.split()), cleandoc(type(provider).__doc__ or ""), provider)
