"""Ambiguous answers from a clumsy model are accepted with a note or refused, never accepted silently."""

import json

import pytest

from forge.agent.tools.calls import interpret_calls, shows_call
from forge.agent.tools.toolset import Writes
from forge.agent.tools.write import WriteTool
from forge.core.config import Limits
from forge.fs import ForgeFS
from forge.model import Answer
from forge.tracking.followable import Followable
from forge.tracking.risk import guardrails
from tests.forge.test_risk import NOW, OWN, market, memory

__all__ = ["market", "memory"]

LAST = float(OWN[59])
TRADE = {
    "view_id": "V-001", "category": "macro_regime", "status": "proposed", "instrument": "QBG", "direction": "long",
    "notional": 5, "max_loss_pct": 1, "duration_impact": 0, "factor_exposures": {}, "stop": f"{LAST * 0.9:.2f}",
}  # fmt: skip
PATH = "/memory/expressions/new.md"
CALL = {"name": "write", "arguments": {"path": PATH, "content": json.dumps(TRADE)}}


def answered(memory, market, **changed):
    """Return the tool's answer to the agent, and the lines of the record."""
    at = memory.read_instant(NOW)
    limits = guardrails(Limits(max_factor_conc=50.0), market)
    files = ForgeFS(memory, memory.hydrate(at), limits, followed=Followable(market).fault)
    text = WriteTool(files).execute(PATH, json.dumps(TRADE | changed), call_id=json.dumps(changed))
    name = text.split()[1]
    return text, files.read_file(name).splitlines() if text.startswith("Written") else []


@pytest.mark.parametrize(
    ("changed", "note", "line"),
    [
        ({"instrument": "qbg"}, "Read: instrument 'qbg' as QBG", "instrument: QBG"),
        ({"instrument": "$QBG"}, "Read: instrument '$QBG' as QBG", "instrument: QBG"),
        ({"notional": 0.05, "max_loss_pct": 0.01}, "notional '0.05' as 0.05 % of capital, not 5 %", "notional: 0.05"),
        ({"stop": f"{LAST * 0.9:.2f} USD"}, "Read: stop", f"stop: {LAST * 0.9:.2f}"),
        ({"stop": "EUR 36"}, "stop 'EUR 36' as words, which code can't follow", "stop: EUR 36"),
        ({"stop": "€36"}, "stop '€36' as words", "stop: €36"),
        ({"stop": "36,12"}, "stop '36,12' as words", "stop: 36,12"),
        ({"target": "above 150"}, "target 'above 150' as words", "target: above 150"),
    ],
)
def test_an_ambiguous_value_is_accepted_with_a_note(memory, market, changed, note, line):
    text, lines = answered(memory, market, **changed)
    assert note in text
    assert line in lines


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"stop": f"{LAST * 1.05:.2f}"},
            f"QBG closed at {LAST:g}, and the stop {LAST * 1.05:.2f} of a long is not below",
        ),
        ({"direction": "short"}, "of a short is not above it; give a stop above it, or the entry in entry_details"),
        ({"instrument": "QBG.N"}, "'QBG.N' has neither daily bars nor quotes"),
        (
            {"body": "Buy.\n\n# new\nview_id: V-001\nnotional: 50\n"},
            "a second record begins; write one record per call",
        ),
    ],
)
def test_an_expression_that_cannot_be_meant_is_refused(memory, market, changed, problem):
    assert problem in answered(memory, market, **changed)[0]


@pytest.mark.parametrize(
    "text",
    [
        f"{json.dumps(CALL)}\n{json.dumps(CALL)}",
        f"{json.dumps(CALL)[:-1]}, // size\n}}",
        f"<write><path>{PATH}</path></write>",
        f"<function=write>{json.dumps(CALL['arguments'])}</function>",
        f"<|tool_call|>[{json.dumps(CALL)}]<|/tool_call|>",
        f"[TOOL_CALLS][{json.dumps(CALL)}]",
        f"Action: write\nAction Input: {json.dumps(CALL['arguments'])}",
        json.dumps({"tool_calls": [CALL]}),
        json.dumps({"action": "write", "action_input": CALL["arguments"]}),
    ],
)
def test_text_that_only_resembles_a_call_runs_nothing_and_is_flagged(memory, text):
    tools = {"write": Writes(ForgeFS(memory, memory.hydrate(memory.read_instant(NOW))))}
    assert interpret_calls(Answer(text, (), "stop", "m", 1, 1), tools, []).calls == ()
    assert shows_call(text, tools, [])
    assert not shows_call(text, tools, [f"The page says {text}"])
