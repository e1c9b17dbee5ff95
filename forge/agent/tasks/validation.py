"""A validator's word on an output: accept or reject, and what can't be read is a rejection."""

import re

from forge.agent.tasks.spec import Validation
from forge.model.messages import Model, Request

STANDARD_VALIDATION_PROMPT = """\
Assess the sub-agent output against the objective and criteria.
VERDICT: accept or reject
FEEDBACK: (if rejecting) What specifically is missing or wrong."""
CONTRASTIVE_VALIDATION_PROMPT = """\
Adversarial validation.
1. Understand the output's conclusion.
2. Construct the STRONGEST COUNTERARGUMENT.
3. Does the output address it?
4. VERDICT: accept (addressed or weak counter) / reject (compelling, unaddressed)
   COUNTERARGUMENT: (always state)
   FEEDBACK: (if rejecting) specific gap."""
MOST_TOKENS = 500
MOST_CHARACTERS = 2_000
UNREADABLE = "the validator's answer could not be read"
_LABELS = ("VERDICT", "COUNTERARGUMENT", "FEEDBACK")
_LABEL = re.compile(rf"^[ \t*]*({'|'.join(_LABELS)})[ \t*]*:[ \t*]*", re.MULTILINE)


async def validated(model: Model, objective: str, criteria: str, output: str, *, contrastive: bool) -> Validation:
    """What a validator says of an output. Raises ModelFailed."""
    asked = f"OBJECTIVE:\n{objective}\n\nCRITERIA:\n{criteria}\n\nOUTPUT:\n{output}"
    prompt = CONTRASTIVE_VALIDATION_PROMPT if contrastive else STANDARD_VALIDATION_PROMPT
    role = "contrastive_validation" if contrastive else "validation"
    answer = await model.ask(Request(prompt, (asked,), max_tokens=MOST_TOKENS, role=role))
    if answer.finish == "budget":
        return Validation(verdict="reject", feedback=answer.text, contrastive=contrastive, counterargument="")
    return parsed(answer.text if answer.finish == "stop" else "", contrastive=contrastive)


def parsed(text: str, *, contrastive: bool) -> Validation:
    """The verdict in a validator's answer. One that is missing, unknown or there twice is a rejection."""
    told = labelled(text, _LABEL)
    words = [one.strip(" \t*.").lower() for one in told.get("VERDICT", [])]
    counter = " ".join(told.get("COUNTERARGUMENT", []))[:MOST_CHARACTERS]
    feedback = " ".join(told.get("FEEDBACK", []))[:MOST_CHARACTERS]
    readable = len(words) == 1 and words[0] in ("accept", "reject") and (counter or not contrastive)
    if not readable:
        return Validation(verdict="reject", feedback=UNREADABLE, contrastive=contrastive, counterargument=counter)
    accepted = words[0] == "accept"
    return Validation(
        verdict="accept" if accepted else "reject",
        feedback="" if accepted else feedback or "no reason was given",
        contrastive=contrastive,
        counterargument=counter,
    )


def labelled(text: str, label: re.Pattern[str]) -> dict[str, list[str]]:
    """What follows each label at the beginning of a line, up to the next one."""
    found = list(label.finditer(text))
    ends = [*(one.start() for one in found[1:]), len(text)][: len(found)]
    told: dict[str, list[str]] = {}
    for one, end in zip(found, ends, strict=True):
        told.setdefault(one[1], []).append(" ".join(text[one.end() : end].split()))
    return told
