"""The providers of `fetch`: one module each, by name; each asks the lake as of the turn's instant, no further."""

from collections.abc import Mapping
from functools import cache

from forge.providers import analytics, economic, market, news, research, web
from forge.providers.base import Provider
from pitlake.errors import BadInput, choice


@cache
def all_providers() -> Mapping[str, Provider]:
    """Every provider by the name `fetch` knows it by."""
    known = (economic, market, news, research, web, analytics)
    return {module.PROVIDER.name: module.PROVIDER for module in known}


def provider(name: str) -> Provider:
    """A provider by name. Raises BadInput naming those there are."""
    try:
        return all_providers()[name]
    except KeyError:
        raise BadInput("source", f"there is no source {name!r}", choice(name, all_providers())) from None
