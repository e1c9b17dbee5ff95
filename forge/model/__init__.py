"""Models: requests and answers in provider-neutral types, the only caller of pydantic-ai, and the test double.

No other part of Forge imports pydantic-ai, and this package imports it only when a model is called.
"""

from forge.model.messages import (
    Answer,
    AnswerCut,
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
    "AnswerCut",
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
