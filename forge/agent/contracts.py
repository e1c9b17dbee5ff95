"""Contracts of outputs: the machine-readable sections, which are parsed strictly and all or nothing."""

import re
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from forge.agent.tools.text import headings, section
from forge.records.spelling import Plain
from pitlake.errors import BadInput

MOST_CHARACTERS = 100_000
NONE = "none"
SECTIONS = ("SUMMARY", "VIEW UPDATES", "EXPRESSION IMPLICATIONS", "OPEN QUESTIONS", "NEXT ACTIONS")
_BLOCK = re.compile(r"^```ya?ml[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^```", re.MULTILINE)
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1, max_length=2_000)]


class OutputUnreadable(BadInput):
    """An output breaks its contract, so no part of it is used."""


class _Contract(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ScenarioChange(_Contract):
    """A scenario's probability before and after."""

    scenario: Text
    prior_probability: Share
    updated_probability: Share


class ViewUpdate(_Contract):
    """An output's statement about a View."""

    view_id: Annotated[str, Field(pattern=r"\AV-[0-9]{3,9}\z")]
    prior_confidence: Share
    updated_confidence: Share
    direction: Literal["unchanged", "strengthened", "weakened", "invalidated"]
    scenario_changes: list[ScenarioChange] = []
    key_evidence: Text


class ExpressionImplication(_Contract):
    """An output's implication for an Expression."""

    expression_id: Annotated[str, Field(pattern=r"\AE-[0-9]{3,9}\z")]
    action: Literal["hold", "adjust", "close", "review"]
    adjustment: str = ""
    urgency: Literal["immediate", "next_session", "monitoring"]


class Output(_Contract):
    """The machine-readable part of an output."""

    summary: Text
    view_updates: tuple[ViewUpdate, ...] = ()
    expression_implications: tuple[ExpressionImplication, ...] = ()


_One = TypeVar("_One", bound=_Contract)


def plain(text: str) -> Output:
    """Parse an output that needs only a SUMMARY. Raises OutputUnreadable."""
    return Output(summary=_section(text, "SUMMARY")[:2_000])


def view_validation(text: str) -> Output:
    """Parse an output of view-validation: SUMMARY and VIEW UPDATES. Raises OutputUnreadable."""
    return plain(text).model_copy(update={"view_updates": _blocks(text, "VIEW UPDATES", ViewUpdate)})


def synthesis(text: str) -> Output:
    """Parse an output of portfolio-synthesis, which needs all five sections. Raises OutputUnreadable."""
    for name in SECTIONS:
        _section(text, name)
    implied = _blocks(text, "EXPRESSION IMPLICATIONS", ExpressionImplication)
    return view_validation(text).model_copy(update={"expression_implications": implied})


CONTRACTS: dict[str, Callable[[str], Output]] = {"portfolio-synthesis": synthesis, "view-validation": view_validation}
"""Parsers by skill; any other skill needs only a SUMMARY."""


def read_output(skill: str, text: str) -> Output:
    """Parse a skill's output. Raises OutputUnreadable, whose message explains what to change."""
    if len(text) > MOST_CHARACTERS:
        raise OutputUnreadable("output", f"has {len(text):,} characters", f"keep it under {MOST_CHARACTERS:,}")
    return CONTRACTS.get(skill, plain)(text)


def _section(text: str, name: str) -> str:
    heads = headings(text, name)
    body = section(text, name)
    if len(heads) != 1 or not body:
        problem = "appears twice" if len(heads) > 1 else "is missing or empty"
        raise OutputUnreadable(name, problem, f"give one section ### {name}")
    return body


def _blocks(text: str, name: str, kind: type[_One]) -> tuple[_One, ...]:
    body = _section(text, name)
    blocks = _BLOCK.findall(body)
    if 2 * len(blocks) != len(_FENCE.findall(body)):
        raise OutputUnreadable(name, "has a fence that is not a whole ```yaml block", "give only yaml blocks")
    if not blocks:
        if body.strip().strip(".").lower() == NONE:
            return ()
        raise OutputUnreadable(name, "has no ```yaml block", f"give one block per item, or write {NONE}")
    entries: list[_One] = []
    for block in blocks:
        try:
            documents = list(yaml.load_all(block, Plain))
        except (yaml.YAMLError, ValueError, RecursionError) as problem:
            raise OutputUnreadable(name, f"is not YAML ({type(problem).__name__})", "quote texts with colons") from None
        items = [item for document in documents for item in (document if isinstance(document, list) else [document])]
        if not items:
            raise OutputUnreadable(name, "has an empty block", f"fill it, or write {NONE} without a block")
        for fields in items:
            try:
                entries.append(kind.model_validate(fields))
            except ValidationError as problem:
                first = problem.errors(include_url=False, include_input=False)[0]
                where = ".".join(map(str, first["loc"])) or "the block"
                raise OutputUnreadable(name, f"{where}: {first['msg']}", "follow the template") from None
    keys = [next(iter(entry.model_dump().values())) for entry in entries]
    if len(set(keys)) < len(keys):
        raise OutputUnreadable(name, "has one id twice", "give one block per id")
    return tuple(entries)
