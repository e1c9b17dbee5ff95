"""Views and Expressions of a model that reads no help page: values with one meaning are read, others refused."""

import asyncio
import json
import re
from datetime import date

import pytest

from forge.agent.tools.toolset import Writes
from forge.agent.tools.typed import TypedWrite
from forge.fs import ForgeFS
from forge.records import KINDS, parse
from forge.tracking.followable import Followable
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp
from tests.forge.test_untaken import DAYS, at, bar, memory, standing

__all__ = ["memory"]

SETTLES = {"query": "macro_latest", "params": {"series": ["GDP"]}, "rule": "value < 17000", "by": "2024-12-02"}
VIEW = {
    "scope": "us_growth", "category": "macro_regime", "confidence": 0.65, "status": "active", "horizon": "3m",
    "scenarios": [{"name": "soft", "probability": 0.65}, {"name": "hard", "probability": 0.35}],
    "settles": SETTLES, "invalidation": [{"condition": "payrolls rise"}],
}  # fmt: skip
TRADE = {
    "view_id": "V-001", "category": "macro_regime", "instrument": "QFH", "status": "draft", "direction": "long",
    "max_loss_pct": 1.0, "notional": 5.0, "factor_exposures": {"equity": 5.0},
    "entry_details": "100", "target": "120", "stop": "90",
}  # fmt: skip
BODY = "## SUMMARY\n\nOrders fell."
FOLDERS = {"views": VIEW, "expressions": TRADE}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    outcome = Lake(tmp_path_factory.mktemp("spellings") / "lake")
    put_rows(
        outcome, "prices", *(bar(day, 100.0, symbol="QFH", entity_kind="index", entity_id="QFH") for day in DAYS[:5])
    )
    put_rows(outcome, "macro_observations", gdp("2014-04-30", 17_149.6))
    return outcome


@pytest.fixture
def write(memory, lake):
    """A function that writes a new record from text or typed fields, and returns the answer and the record or None."""
    now = at(memory, lake, DAYS[4])
    files = ForgeFS(memory, standing(memory).remembered, followed=Followable(now).fault)

    def call(kind, text):
        if isinstance(text, dict):
            answer = asyncio.run(TypedWrite(files, KINDS[kind]).execute(f"typed {kind} {text}", **text))
        else:
            answer = asyncio.run(Writes(files).execute(f"{kind} {text}", f"/memory/{kind}/new.md", text))
        path = re.match(r"Written: (\S+)", answer)
        return answer, parse(KINDS[kind], files.read_file(path[1])) if path else None

    return call


def lines(fields, line="{}: {}"):
    shown = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    return "\n".join(line.format(name, value) for name, value in shown.items())


FORMS = {
    "front matter": lambda fields: f"---\n{lines(fields)}\n---\n{BODY}",
    "front matter and a title": lambda fields: f"---\n{lines(fields)}\n---\n# Growth slows\n\n{BODY}",
    "a title in words": lambda fields: f"# Growth slows\n{lines(fields)}\n---\n{BODY}",
    "a title with its kind": lambda fields: f"# View: growth slows\n{lines(fields)}\n---\n{BODY}",
    "no title": lambda fields: f"{lines(fields)}\n---\n{BODY}",
    "bold": lambda fields: f"# new\n{lines(fields, '**{}**: {}')}\n---\n{BODY}",
    "bullets": lambda fields: f"# new\n{lines(fields, '- {}: {}')}\n---\n{BODY}",
    "bold bullets": lambda fields: f"# new\n{lines(fields, '- **{}:** {}')}\n---\n{BODY}",
    "capital keys": lambda fields: f"# new\n{lines({name.upper(): each for name, each in fields.items()})}\n\n{BODY}",
    "Windows line ends": lambda fields: f"# new\n{lines(fields)}\n---\n{BODY}".replace("\n", "\r\n"),
    "blank lines": lambda fields: "# new\n\n" + lines(fields, "{}: {}\n") + f"\n---\n{BODY}",
    "a table": lambda fields: f"# new\n\n| Field | Value |\n|---|:--|\n{lines(fields, '| {} | {} |')}\n\n{BODY}",
    "a fence of Markdown": lambda fields: f"```markdown\n# new\n{lines(fields)}\n---\n{BODY}\n```",
    "a fence of YAML": lambda fields: f"```yaml\n{lines(fields)}\n---\n{BODY}\n```",
    "YAML without an end": lambda fields: f"{lines(fields)}\n\n{BODY}",
    "JSON": lambda fields: json.dumps(fields | {"body": BODY}),
    "JSON over lines in a fence": lambda fields: f"```json\n{json.dumps(fields | {'body': BODY}, indent=2)}\n```",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("kind", FOLDERS)
def test_every_common_text_form_of_a_record_is_read(write, kind, form):
    plain = write(kind, FORMS["no title"](FOLDERS[kind]))[1]
    answer, record = write(kind, form(FOLDERS[kind]))
    assert record, answer
    fields = {name: getattr(record, name) for name in FOLDERS[kind]}
    assert fields == {name: getattr(plain, name) for name in FOLDERS[kind]}
    assert "Orders fell." in record.body


READ = [
    ("views", "scenarios", "\n- name: soft\n  probability: 65%\n- name: hard\n  probability: 35%", None),
    ("views", "scenarios", "\n  soft: 0.65\n  hard: 0.35", None),
    ("views", "scenarios", '{"soft": 0.65, "hard": 0.35}', None),
    ("views", "scenarios", "{'soft': 0.65, 'hard': 0.35}", None),
    ("views", "scenarios", '[{"name": "soft", "prob": 0.65}, {"name": "hard", "prob": 0.35}]', None),
    ("views", "confidence", "65%", 0.65),
    ("views", "confidence", "65", 0.65),
    ("views", "category", "Macro Regime", "macro_regime"),
    ("views", "category", "macro", "macro_regime"),
    ("views", "status", "ACTIVE", "active"),
    ("views", "horizon", "3 months", "3 months"),
    ("views", "links", '["O-001", "O-002"]', ("O-001", "O-002")),
    ("expressions", "direction", "buy", "long"),
    ("expressions", "direction", "Long", "long"),
    ("expressions", "direction", "LONG", "long"),
    ("expressions", "notional", "5%", 5.0),
    ("expressions", "notional", "5.0 %", 5.0),
    ("expressions", "max_loss_pct", "1%", 1.0),
    ("expressions", "expires", "3 months", date(2024, 6, 7)),
    ("expressions", "target", "120 (+20%)", "120"),
    ("expressions", "target", "$120.50", "$120.50"),
    ("expressions", "target", "120-16", "120.5"),
    ("expressions", "target", "120-15+", "120.484375"),
    ("expressions", "target", "120 (or 130)", "120 (or 130)"),
    ("expressions", "target", "120 (pence)", "120 (pence)"),
]


@pytest.mark.parametrize(("kind", "name", "text", "value"), READ, ids=[f"{name} {text}" for _, name, text, _ in READ])
def test_a_value_with_one_meaning_is_read(write, kind, name, text, value):
    plain = write(kind, FORMS["no title"](FOLDERS[kind]))[1]
    fields = FOLDERS[kind] | {name: text}
    for spelled in (FORMS["no title"](fields), json.dumps(fields), fields):
        answer, record = write(kind, spelled)
        assert record, answer
        assert getattr(record, name) == (value if value is not None else getattr(plain, name))


def test_the_answer_lists_values_that_were_interpreted(write):
    answer, _ = write("expressions", FORMS["no title"](TRADE | {"target": "120 (+20%)", "expires": "3 months"}))
    assert answer.split("\n")[1:] == ["Read: target '120 (+20%)' as 120; expires '3 months' as 2024-06-07"]
    answer, _ = write("views", FORMS["no title"](VIEW | {"confidence": "65", "category": "macro"}))
    assert answer.split("\n")[1:] == ["Read: category 'macro' as macro_regime; confidence '65' as 0.65"]


def test_scenario_descriptions_and_invalidation_thresholds_are_preserved(write):
    scenarios = [{"name": "soft", "probability": 0.65, "description": "orders fall"}, VIEW["scenarios"][1]]
    invalidation = [{"condition": "payrolls rise", "threshold": 250_000}, "claims fall"]
    answer, view = write("views", lines(VIEW | {"scenarios": scenarios, "invalidation": invalidation}))
    assert view, answer
    assert view.scenarios[0].description == "orders fall"
    assert [(each.condition, each.threshold) for each in view.invalidation] == [
        ("payrolls rise", "250000"), ("claims fall", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["payrolls rise by 250,000", ["payrolls rise", "claims fall"]])
def test_what_invalidates_a_view_may_be_a_text_or_a_list(write, text):
    answer, view = write("views", lines(VIEW | {"invalidation": text}))
    assert view, answer
    assert [each.condition for each in view.invalidation] == ([text] if isinstance(text, str) else text)


@pytest.mark.parametrize("kind", FOLDERS)
def test_further_fields_are_kept_in_the_body(write, kind):
    more = {"rationale": "Orders: they fell.", "title": "Slow", "created": "2024-03-07", "thesis": "Growth"}
    for text in (f"{lines(FOLDERS[kind] | more)}\n---\n{BODY}", json.dumps(FOLDERS[kind] | more | {"body": BODY})):
        answer, record = write(kind, text)
        assert record, answer
        assert [name for name, value in more.items() if f"{name}: {value}" not in record.body] == []
        assert "Orders fell." in record.body


def test_thirds_that_were_rounded_are_normalised(write):
    thirds = [{"name": name, "probability": 0.33} for name in ("soft", "flat", "hard")]
    answer, view = write("views", lines(VIEW | {"scenarios": thirds}))
    assert view, answer
    assert sum(each.probability for each in view.scenarios) == pytest.approx(1, abs=1e-9)
    assert "scenarios: probabilities that sum to 0.99 as 1" in answer


def test_deadline_is_accepted_as_a_synonym_of_by(write):
    question = {name: value for name, value in SETTLES.items() if name != "by"} | {"deadline": "2024-12-02"}
    answer, view = write("views", lines(VIEW | {"settles": question}))
    assert view, answer
    assert view.settles.by == date(2024, 12, 2)


REFUSED = [
    ("views", {"confidence": "high"}, "confidence: 'high' is not a number; write for example confidence: 0.6"),
    ("views", {"confidence": "1.4"}, "confidence: 1.4 is not from 0 to 1"),
    ("views", {"confidence": "650"}, "confidence: 650 is not from 0 to 1"),
    ("views", {"confidence": "200%"}, "confidence: '200%' is not from 0 to 1"),
    ("views", {"confidence": "1"}, "confidence: 1 may be 1 % or 100 %; give 0.01 or 1.0"),
    ("views", {"confidence": 1}, "confidence: 1 may be 1 % or 100 %; give 0.01 or 1.0"),
    ("views", {"confidence": "7"}, "confidence: 7 is not from 0 to 1"),
    ("views", {"confidence": "$60"}, "confidence: '$60' is a price, which this number is not"),
    ("views", {"links": {"O-001": "supports", "O-002": "contradicts"}}, "links: 'O-001: supports' is not a name"),
    ("views", {"settles": SETTLES | {"by": 1733097600}}, "by: 1733097600 is not a date such as 2024-02-15"),
    ("views", {"settles": SETTLES | {"deadline": "2024-12-31"}}, "settles: by appears twice"),
    ("views", {"scenarios": [{"name": "soft", "prob": 0.65, "probability": 0.5}, {"name": "hard", "p": 0.5}]},
     "scenarios: probability appears twice"),
    ("views", {"scenarios": {"soft": 0.7, "hard": 0.7}}, "scenarios: their probabilities sum to 1.4, not 1"),
    ("views", {"scenarios": {"soft": 1.0}}, "scenarios: one scenario is not a distribution"),
    ("views", {"settles": SETTLES | {"query": "macro_series", "params": {"series": "GDPP"}}}, "GDPP"),
    ("views", {"settles": SETTLES | {"query": "macro_series", "params": {"series": "GDP, CPI"}}}, "one series"),
    ("views", {"settles": {"query": "entity_latest_price", "params": {"ticker": "QFHH"}, "rule": "close > 1",
                           "by": "2024-12-02"}}, "give a ticker with daily bars: QFH"),
    ("views", {"settles": SETTLES | {"rule": "value < 2 and other > 3"}}, "rule"),
    ("views", {"settles": SETTLES | {"by": "2199-01-01"}}, "by: 2199-01-01 is more than 30 years away"),
    ("views", {"confidance": 0.6}, "'confidance' is not a field; did you mean confidence?"),
    ("expressions", {"instrument": "the moon"}, "instrument: 'the moon' has neither daily bars nor quotes"),
    ("expressions", {"max_loss_pct": 0}, "max_loss_pct: 0 is not a loss"),
    ("expressions", {"notional": "$5"}, "notional: '$5' is a price, which this number is not"),
    ("expressions", {"factor_exposures": [{"name": "equity", "value": 5}, {"name": "equity", "value": 6}]},
     "factor_exposures: equity appears twice"),
    ("expressions", {"target": "10-15"}, "target: '10-15' is a range; write one price"),
    ("expressions", {"notional": -10}, "notional: -10 is negative, and the direction is long"),
    ("expressions", {"notional": 1e-7}, "notional: 1e-07 is less than 0.01"),
    ("expressions", {"max_loss_pct": 7}, "max_loss_pct: 7 is larger than the notional of 5"),
    ("expressions", {"stop": "110"}, "stop: 110 is not below the entry 100"),
    ("expressions", {"stop": "-8%"}, "stop: '-8%' is a percentage; write one price in USD, such as 33.5"),
    ("expressions", {"entry_details": "98-102"}, "entry_details: '98-102' is a range; write one price"),
    ("expressions", {"stop": "", "max_loss_pct": "", "status": "proposed"}, "stop: neither a stop nor max_loss_pct"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "changes", "line"), REFUSED, ids=[line for *_, line in REFUSED])
def test_an_ambiguous_or_invalid_value_is_refused_with_a_hint(write, kind, changes, line):
    fields = FOLDERS[kind] | changes
    for text in (lines(fields), json.dumps(fields), fields):
        answer, record = write(kind, text)
        assert record is None, answer
        assert line in answer
        assert answer.endswith(f"How to write one: read('/help/{kind}.md')")


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ('"Confidence": 0.9', "confidence appears twice; give each field once"),
        ('"confidence": 0.9', "the text is not JSON: confidence appears twice"),
        ('"horizon": NaN', "the text is not JSON: NaN is not a number"),
    ],
)
def test_json_with_two_values_of_a_field_is_refused_with_the_reason(write, more, line):
    answer, record = write("views", f"{json.dumps(VIEW)[:-1]}, {more}}}")
    assert record is None, answer
    assert line in answer
