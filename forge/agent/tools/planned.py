"""The calls of a planned turn: a fetch and a View with few fields, whose forms a server enforces for a small model."""

import json
from typing import Any

from forge.agent.help import agents_schema
from forge.agent.tools.typed import closed_object
from forge.agent.tools.write import WRITTEN, WriteTool
from forge.fs import ForgeFS
from forge.model.messages import ToolSpec
from forge.records import KINDS
from forge.records.kinds import NEW
from pitlake.errors import BadInput

VIEWS, NAME = KINDS["views"], {"type": "string", "maxLength": 20}
FIGURES = {
    "value": ("economic", "latest", "macro_latest", "series"),
    "close": ("market", "price", "entity_latest_price", "ticker"),
}
"""By the column that a rule reads: the source and operation of a fetch, the query that settles, and its parameter."""
FETCHES = [
    closed_object({"source": {"const": source}, "params": closed_object({"op": {"const": op}, parameter: NAME})})
    for source, op, _, parameter in FIGURES.values()
]
VIEW = closed_object(
    {
        "scope": {"type": "string", "maxLength": 60},
        "reason": {"type": "string", "maxLength": 300, "minLength": 40},
        "category": {"enum": agents_schema(VIEWS)["category"]["enum"]},
        "name": NAME,
        "rule": {"type": "string", "pattern": rf"^({'|'.join(FIGURES)}) [<>] -?[0-9]{{1,7}}(\.[0-9]{{1,3}})?$"},
        "by": {"enum": ["1 month", "3 months", "6 months", "12 months"]},
        "confidence": {"enum": [share / 20 for share in range(1, 20)]},
    }
)
FORMS = {
    "fetch": ToolSpec("fetch", "Fetch a figure.", {"anyOf": FETCHES}),
    "write_view": ToolSpec("write_view", f"Write to {VIEWS.folder}.", VIEW),
}
PLANS = {("small", True): tuple(FORMS)}
"""The calls that a turn makes before its answer, by profile and typed writes."""


class ShortView:
    """The tool `write_view` of a planned turn. Code adds the fields that follow from the others."""

    spec = FORMS["write_view"]

    def __init__(self, fs: ForgeFS) -> None:
        self._tool = WriteTool(fs)

    async def execute(self, call_id: str, /, **fields: Any) -> str:
        """Write the View, whose scenarios are the two sides of its rule, and return the path or the fault."""
        rule, share = str(fields.pop("rule", "")), fields.get("confidence")
        if not isinstance(share, float | int) or not 0 <= share <= 1:
            raise BadInput("confidence", f"{share!r} is not a number from 0 to 1", "give for example 0.6")
        *_, query, parameter = FIGURES.get(rule.partition(" ")[0], FIGURES["value"])
        params, reason = {parameter: fields.pop("name", "")}, fields.pop("reason", "")
        fields |= {
            "status": "active",
            "settles": {"query": query, "params": params, "rule": rule, "by": fields.pop("by", "")},
            "scenarios": [
                {"name": "rule holds", "probability": share},
                {"name": "otherwise", "probability": round(1 - share, 6)},
            ],
            "body": f"## SUMMARY\n\n{reason}",
        }
        answer = self._tool.execute(VIEWS.path(NEW), json.dumps(fields), call_id=call_id)
        return f"{answer}\n{rule}: {reason}" if answer.startswith(WRITTEN) else answer
