"""Models: what is asked and answered in words of our own, the one caller of pydantic-ai, and the test double.

No other part of Forge imports pydantic-ai, and this one only where a model is asked.
"""

from forge.model.messages import (
    Answer,
    Call,
    Message,
    Model,
    ModelFailed,
    NoModel,
    Request,
    Results,
    Returned,
    ToolSpec,
)

__all__ = [
    "Answer",
    "Call",
    "Message",
    "Model",
    "ModelFailed",
    "NoModel",
    "Request",
    "Results",
    "Returned",
    "ToolSpec",
]
