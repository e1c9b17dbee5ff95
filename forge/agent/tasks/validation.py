"""Validation of an output: accept or reject. An unreadable answer is treated as a rejection."""

import re

from forge.agent.tasks.spec import Validation
from forge.agent.tools.text import marked, quoted
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


async def validate_output(model: Model, objective: str, criteria: str, output: str, *, contrastive: bool) -> Validation:
    """Ask a validator to judge an output. Raises ModelFailed."""
    message = f"OBJECTIVE:\n{quoted(objective)}\n\nCRITERIA:\n{criteria}\n\nOUTPUT:\n{marked(output, 'output')}"
    prompt = CONTRASTIVE_VALIDATION_PROMPT if contrastive else STANDARD_VALIDATION_PROMPT
    role = "contrastive_validation" if contrastive else "validation"
    answer = await model.ask(Request(prompt, (message,), max_tokens=MOST_TOKENS, role=role))
    if answer.finish in ("budget", "stopped", "too_long"):
        return Validation(verdict="reject", feedback=answer.text, contrastive=contrastive, counterargument="")
    return parse_verdict(answer.text if answer.finish == "stop" else "", contrastive=contrastive)


def parse_verdict(text: str, *, contrastive: bool) -> Validation:
    """Parse a validator's answer. A missing, unknown or repeated verdict is a rejection."""
    sections = labelled_sections(text, _LABEL)
    words = [word.strip(" \t*.").lower() for word in sections.get("VERDICT", [])]
    counter = " ".join(sections.get("COUNTERARGUMENT", []))[:MOST_CHARACTERS]
    feedback = " ".join(sections.get("FEEDBACK", []))[:MOST_CHARACTERS]
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


def labelled_sections(text: str, label: re.Pattern[str]) -> dict[str, list[str]]:
    """Return the text after each label at the start of a line, up to the next label."""
    matches = list(label.finditer(text))
    ends = [*(match.start() for match in matches[1:]), len(text)][: len(matches)]
    sections: dict[str, list[str]] = {}
    for match, end in zip(matches, ends, strict=True):
        sections.setdefault(match[1], []).append(" ".join(text[match.end() : end].split()))
    return sections
