"""The catalogue's pages: the agents' skill is valid, and no dataset or query is missing."""

import re
from pathlib import Path

from forge.core.skill_loader import check_skill
from pitlake.datasets import all_datasets
from pitlake.gate.rules import ANSWER_GAPS, FORBIDDEN_KEYS, SOURCES
from pitlake.questions import catalogue
from pitlake.questions.parameters import TYPES
from scripts import catalogue_pages
from tests.every import every

ROOT = Path(__file__).resolve().parents[2]
SKILL = ROOT / ".claude" / "skills" / "lake-schema"


def test_the_skill_is_a_valid_agent_skill_of_a_readable_size():
    check_skill(SKILL)
    assert len((SKILL / "SKILL.md").read_text().splitlines()) < 500


def test_the_agent_pages_name_every_dataset_gap_source_and_forbidden_key():
    assert f"\n{', '.join(all_datasets())}\n" in (SKILL / "SKILL.md").read_text()
    envelope = {*re.findall(r"\w+", (SKILL.with_name("pit-envelope") / "SKILL.md").read_text())}
    assert {*ANSWER_GAPS, *SOURCES, *FORBIDDEN_KEYS} <= envelope


def test_the_pages_describe_every_dataset_column_query_and_parameter():
    skill, page = catalogue_pages.reference(), catalogue_pages.queries_page()
    for dataset in all_datasets().values():
        assert f"### {dataset.name}\n" in skill
        assert every(column.name in skill for column in dataset.columns)
    for query in catalogue.all_queries().values():
        assert f"**{query.name}**" in skill
        assert every(parameter.meaning in page for parameter in query.parameters)


def test_every_type_of_parameter_is_explained():
    assert catalogue_pages.TYPES_IN_WORDS.keys() == TYPES.keys()


def test_the_macros_named_in_the_skill_exist():
    text = " ".join(catalogue.session_macros(all_datasets()))
    rules, _, _ = (SKILL / "SKILL.md").read_text().partition("## Datasets")
    for name in ("news", "report_sections", "exhibits", "qa_exchanges", "xbrl_facts", "prices"):
        assert name in rules
        assert f"CREATE MACRO {name}_of(wanted)" in text
