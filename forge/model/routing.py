"""Selects the model of each role and creates its client. Each role's model can be configured.

A model is named `anthropic:<id>` or `openai:<id>`. Append `@http://…/v1` for another server with the same API,
including a local one. Keys come from the environment.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from forge.core.config import PROPOSAL, ROLES, ROUTING
from forge.core.known_models import DEFAULTS
from forge.model.messages import Model, NoModel
from pitlake.errors import BadInput

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Library

VARIABLE = "FORGE_MODEL_{}"
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY"}


@dataclass(frozen=True)
class Routing:
    """The models by role. chosen: the configured models, which $FORGE_MODEL_<ROLE> overrides.

    seconds: the time limit of a request. retries: the retries for a busy provider. only: a model for all roles, which
    overrides the environment; "" for none. Raises BadInput for an unknown role.
    """

    chosen: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 120.0
    retries: int = 2
    only: str = ""

    def __post_init__(self) -> None:
        for role in self.chosen:
            if role not in (*ROLES, PROPOSAL):
                raise BadInput("role", f"{role!r} is not a role", f"choose from {', '.join(ROLES)}")

    def model_name(self, role: str) -> str:
        """Return the model's name for a role: `provider:id`, with `@url` for another server."""
        name = (
            self.only or os.environ.get(VARIABLE.format(role.upper())) or self.chosen.get(role) or ROUTING.get(role, "")
        )
        return DEFAULTS.get(name, name)

    def missing(self, role: str) -> str:
        """Return why the role's model is not available, or ""."""
        if not self.model_name(role):
            return f"set proposal_model in [evolution] in Forge's settings, or {VARIABLE.format(role.upper())}"
        provider, _, rest = self.model_name(role).partition(":")
        if provider not in KEYS or not rest:
            return f"{self.model_name(role)!r} does not name a provider; write anthropic:<id> or openai:<id>"
        if "@" in rest or os.environ.get(KEYS[provider]):
            return ""
        return f"set {KEYS[provider]}, or set another model in {VARIABLE.format(role.upper())}"

    def model(self, role: str) -> Model:
        """Return the model for a role. Raises NoModel, which names the setting."""
        from forge.model.call import Provided

        if problem := self.missing(role):
            raise NoModel("model", f"none is configured for the role {role}", problem)
        provider, _, rest = self.model_name(role).partition(":")
        name, _, url = rest.partition("@")
        options: dict[str, Any] = {"max_retries": self.retries, "timeout": self.seconds}
        # A provider's key is never sent to another server.
        options |= {"base_url": url, "api_key": "none"} if url else {"api_key": os.environ.get(KEYS[provider], "")}
        library: Library
        try:
            if provider == "anthropic":
                from anthropic import AsyncAnthropic
                from pydantic_ai.models.anthropic import AnthropicModel
                from pydantic_ai.providers.anthropic import AnthropicProvider

                anthropic_client = AsyncAnthropic(**options)
                library = AnthropicModel(name, provider=AnthropicProvider(anthropic_client=anthropic_client))
            else:
                from openai import AsyncOpenAI
                from pydantic_ai.models.openai import OpenAIChatModel
                from pydantic_ai.providers.openai import OpenAIProvider

                library = OpenAIChatModel(name, provider=OpenAIProvider(openai_client=AsyncOpenAI(**options)))
        except ImportError:
            raise NoModel("model", "the extra forge is not installed", "pip install 'pitlake[forge]'") from None
        return Provided(f"{provider}:{name}", library, self.seconds)
