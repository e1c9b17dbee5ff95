"""The calls of a planned turn: a fetch and a short View. A server enforces their forms for a small model."""

import json
import re
from collections.abc import Mapping
from typing import Any

from forge.agent.help import MOST_NAMES, agents_schema, page_path
from forge.agent.tools.typed import closed_object
from forge.agent.tools.write import WRITTEN, WriteTool
from forge.fs import ForgeFS
from forge.model.messages import ToolSpec
from forge.records import KINDS
from forge.records.kinds import NEW
from pitlake.errors import BadInput

VIEWS, NAME = KINDS["views"], {"type": "string", "maxLength": 20}
FIGURES = {
    "value": ("economic", "latest", "macro_latest", "series", "macro_observations"),
    "close": ("market", "price", "entity_latest_price", "ticker", "prices"),
}
"""The source and operation of a fetch, the query, its parameter and its dataset, by the column that a rule reads."""
VIEW = {
    "scope": {"type": "string", "maxLength": 60},
    "reason": {"type": "string", "maxLength": 300, "minLength": 40},
    "category": {"enum": agents_schema(VIEWS)["category"]["enum"]},
    "name": NAME,
    "rule": {"type": "string"},
    "by": {"enum": ["1 month", "3 months", "6 months", "12 months"]},
    "confidence": {"enum": [share / 20 for share in range(1, 20)]},
}
PLANS = {("small", True): ("fetch", "write_view")}
"""The calls that answer a turn, by profile and typed writes."""


def lake_names(fs: ForgeFS) -> dict[str, list[str]]:
    """Return the series and tickers that the help pages list, by column."""
    names = {}
    for column, (source, *_, dataset) in FIGURES.items():
        line = re.search(rf"^- {dataset}: .*newest of .+: (.+)$", fs.read_file(page_path(source)), re.MULTILINE)
        names[column] = line[1].partition(" and ")[0].split(", ") if line else []
    return names


def forms(names: Mapping[str, list[str]]) -> dict[str, ToolSpec]:
    """Return the forms of the calls by tool. names: the allowed names by column, unless there are none or too many."""
    fetches, views = [], []
    for column, (source, op, _, parameter, _) in FIGURES.items():
        name = {"enum": names[column]} if 0 < len(names[column]) < MOST_NAMES else NAME
        rule = {"type": "string", "pattern": rf"^{column} [<>] -?[0-9]{{1,7}}(\.[0-9]{{1,3}})?$"}
        params = closed_object({"op": {"const": op}, parameter: name})
        fetches.append(closed_object({"source": {"const": source}, "params": params}))
        views.append(closed_object(VIEW | {"name": name, "rule": rule}))
    schemas = {"fetch": fetches, "write_view": views}
    return {name: ToolSpec(name, "", {"anyOf": choices}) for name, choices in schemas.items()}


class ShortView:
    """The tool `write_view` of a planned turn. Code adds the fields that follow from the others."""

    spec = ToolSpec("write_view", f"Write to {VIEWS.folder}.", closed_object(VIEW))

    def __init__(self, fs: ForgeFS) -> None:
        self._tool = WriteTool(fs)

    async def execute(self, call_id: str, /, **fields: Any) -> str:
        """Write the View, with one scenario for each side of its rule, and return the path or the error."""
        rule, share = str(fields.pop("rule", "")), fields.get("confidence")
        if not isinstance(share, float | int) or not 0 <= share <= 1:
            raise BadInput("confidence", f"{share!r} is not a number from 0 to 1", "give a number such as 0.6")
        *_, query, parameter, _ = FIGURES.get(rule.partition(" ")[0], FIGURES["value"])
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
