"""Figures in decisions about capital: each resolves to a source row and its receipt, or is unproven."""

import json

import pytest

from forge.agent.tasks import figures
from forge.agent.tools.fetch import Shelf
from forge.agent.tools.write import WriteTool
from forge.fs import ReadFS
from tests.forge.world import turn

ROW = {"value": 17149.6, "share": 0.2512, "period": "2014Q1", "new": True, "evidence": "alfred:GDP:2014-05-29"}
ANSWER = json.dumps({"label": "GDP", "data": [{"value": 1.0}, ROW], "receipts": [{"answer": "9b1c7e02" * 8}]})


def figures_by_source(fs, text, *sections):
    return {each.text: each.where for each in figures.figures(text, ReadFS(fs.remembered), sections)}


@pytest.fixture
def fs(memory):
    """The files of a turn that fetched one answer."""
    outcome = turn(memory)
    Shelf(outcome.remembered).keep(outcome, "fetched", ANSWER)
    return outcome


@pytest.mark.parametrize("text", ["17149.6", "17,149.6", "17150", "+17149.6", "25.12%", "25%", "0.25"])
def test_o1_a_figure_resolves_to_its_row_and_receipt(fs, text):
    (where,) = figures_by_source(fs, f"GDP is {text} now.").values()
    column = "value" if "17" in text else "share"
    assert where == f"ctx_001 row 2, {column}, evidence alfred:GDP:2014-05-29, receipt 9b1c7e029b1c"


@pytest.mark.parametrize("text", ["17149.7", "-17149.6", "17149.60001", "2014", "26%", "171496"])
def test_o1_a_figure_that_no_row_has_is_unproven(fs, text):
    assert figures_by_source(fs, f"It is {text}.") == {text: ""}
    assert figures.figure_ledger(f"It is {text}.", ReadFS(fs.remembered), ()) == f"## FIGURES\n- {text}: UNPROVEN"


def test_o1_names_and_confidences_are_not_figures_and_only_capital_sections_count(fs):
    text = "### SUMMARY\nV-001 of 2014-05-29, 2014Q1: 3.\n\n### VIEW UPDATES\nprior_confidence: 0.6\n\n"
    text += "### NEXT ACTIONS\n7."
    assert set(figures_by_source(fs, text, *figures.CAPITAL)) == {"3"}
    assert figures.figure_ledger("### SUMMARY\nNothing.", ReadFS(fs.remembered)) == "## FIGURES\nnone"


@pytest.mark.parametrize("name", ["ctx_002", "ctx_001", "ctx_999999999", "ctx_x", "ctx_x/y"])
def test_o1_an_agent_cannot_prove_a_figure_by_a_file_of_its_own(fs, name):
    forged = json.dumps({"label": "GDP", "data": [{"value": 99999.5}], "receipts": [{"answer": "f" * 64}]})
    answer = WriteTool(fs).execute(f"/session/context/{name}.md", forged, call_id="forged")
    assert answer.startswith("Not written. path: ")
    assert figures_by_source(fs, "It is 99999.5.") == {"99999.5": ""}
    assert WriteTool(fs).execute("/session/context/gaps.md", "none", call_id="gaps").startswith("Written: ")
