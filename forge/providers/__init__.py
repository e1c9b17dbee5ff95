"""The providers of `fetch`, one module each. Each reads the lake as of the turn's instant."""

from collections.abc import Mapping
from functools import cache

from forge.providers import analytics, economic, market, news, research, web
from forge.providers.base import Provider
from pitlake.errors import BadInput, choice


@cache
def all_providers() -> Mapping[str, Provider]:
    """Return every provider by its name in `fetch`."""
    modules = (economic, market, news, research, web, analytics)
    return {module.PROVIDER.name: module.PROVIDER for module in modules}


def provider(name: str) -> Provider:
    """Return a provider by name. Raises BadInput with the valid names."""
    try:
        return all_providers()[name]
    except KeyError:
        raise BadInput("source", f"there is no source {name!r}", choice(name, all_providers())) from None
