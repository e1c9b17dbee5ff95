"""The providers of `fetch`: Forge's own, one module each, and those from other packages.

Each provider reads as of the turn's instant. Other packages add providers by the entry points
`pitlake.forge.providers`, or by a line in `[providers]` of Forge's settings.
"""

from collections.abc import Mapping
from functools import cache

from forge.providers import analytics, economic, market, news, research, web
from forge.providers.base import Provider
from forge.providers.packages import ENTRY_POINTS, installed_providers, load_provider
from forge.records import KINDS
from pitlake.errors import BadInput, choice

ProviderLines = tuple[tuple[str, str], ...]
"""The lines of `[providers]`: a name and `package.module:Class`."""
_PAGES = (*KINDS, "queries")
"""The names of the other pages in the folder /help."""


@cache
def all_providers(settings: ProviderLines = ()) -> Mapping[str, Provider]:
    """Return every provider by its name in `fetch`. settings: the lines of `[providers]`.

    Raises BadInput for a provider of another package that can't be used.
    """
    modules = (economic, market, news, research, web, analytics)
    providers: dict[str, Provider] = {module.PROVIDER.name: module.PROVIDER for module in modules}
    for origin, lines in ((f"entry point {ENTRY_POINTS}", installed_providers()), ("providers", settings)):
        for name, place in lines:
            if name in providers or name in _PAGES:
                raise BadInput(f"{origin}.{name}", "is the name of another source or page of /help", "rename it")
            providers[name] = load_provider(f"{origin}.{name}", name, place)
    return providers


def provider(name: str) -> Provider:
    """Return a provider by name. Raises BadInput with the valid names."""
    try:
        return all_providers()[name]
    except KeyError:
        raise BadInput("source", f"there is no source {name!r}", choice(name, all_providers())) from None
