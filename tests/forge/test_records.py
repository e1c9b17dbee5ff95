"""Records: each round-trips through its text, and faults are reported with their lines."""

import string
from dataclasses import MISSING, fields
from typing import Any, get_type_hints

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from forge.core.errors import RecordUnreadable
from forge.fs.entries import format_meta
from forge.records import HEADER_LINES, KINDS, Scenario, parse, render
from forge.records.text import is_pairs, schema
from pitlake.clock import from_micros
from tests.forge.world import NEW_EXPRESSION, NEW_VIEW

LINES = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp")), max_size=30).map(str.strip)
BODIES = st.text(st.characters(blacklist_categories=("Cc", "Cs"), whitelist_characters="\n\t"), max_size=80).map(
    lambda text: text.strip("\n")
)
NAMES = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)


def values(part: dict[str, Any]) -> st.SearchStrategy[Any]:
    result = _values(part)
    return st.none() | result if "optional" in part else result


def _values(part: dict[str, Any]) -> st.SearchStrategy[Any]:
    kind, inside = part.get("type"), part.get("items", part)
    if "enum" in part:
        return st.sampled_from(part["enum"])
    if is_pairs(part):
        value = inside["properties"]["value"]
        return st.dictionaries(NAMES, values(value) if "type" in value else LINES | st.integers(0, 9), max_size=3)
    if kind in ("number", "integer"):
        low, high = max(-1e15, part.get("minimum", -1e15)), min(1e15, part.get("maximum", 1e15))
        return st.integers(0, 10**6) if kind == "integer" else st.floats(low, high, allow_nan=False)
    if kind == "string":
        lines = LINES.filter(bool) if part.get("needed") else LINES
        forms = {"date-time": st.integers(0, 4 * 10**15).map(from_micros), "date": st.dates()}
        return forms.get(part.get("format"), lines)
    if "properties" in inside:
        return _parts(inside) if kind == "object" else st.lists(_parts(inside), max_size=2).map(tuple)
    return st.lists(NAMES, min_size=int(part["needed"]), max_size=3).map(tuple)


def _parts(inside: dict[str, Any]) -> st.SearchStrategy[Any]:
    reply = {name: values(part) for name, part in inside["properties"].items()}
    if "rule" in reply:
        reply |= {"rule": st.just("value >= 2.5")}
    return st.fixed_dictionaries(reply)


@st.composite
def records(draw, kind):
    reply = {name: draw(values(part)) for name, part in schema(kind.cls).items()}
    if kind.name == "views" and reply["scenarios"]:
        shares = draw(st.sampled_from([(1.0,), (0.25, 0.75), (0.5, 0.25, 0.25)]))
        reply["scenarios"] = tuple(Scenario(name=f"s{n}", probability=share) for n, share in enumerate(shares))
    name = (
        f"{kind.prefix}-001"
        if kind.prefix
        else {"sessions": "sess_1", "portfolio": "state", "halts": "halt"}.get(kind.name)
    )
    try:
        return kind.cls(
            id=name or ("constraints" if kind.name == "constraints" else "macro"), body=draw(BODIES), **reply
        )
    except ValueError:
        assume(False)  # such as an active View without its required fields


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
@pytest.mark.sampled(4)
def test_records_of_every_kind_round_trip(kind, data):
    record = data.draw(records(kind))
    text = render(record)
    assert parse(kind, text) == record
    assert render(parse(kind, text)) == text
    assert parse(kind, text.replace("\n", "\r\n")) == record


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_first_eight_lines_are_the_header_of_every_kind(kind):
    names = [each.name for each in fields(kind.cls) if each.name not in ("id", "body")]
    assert len(names) >= HEADER_LINES - 1
    assert {"status", "updated", "links"} <= set(names[: HEADER_LINES - 1])
    assert get_type_hints(kind.cls)
    assert [each.name for each in fields(kind.cls)][:2] == ["id", "body"]
    assert next(each for each in fields(kind.cls) if each.name == "id").default is MISSING


def test_a_rendered_view_has_the_header_fields_of_the_design():
    lines = render(NEW_VIEW).split("\n")
    assert [line.partition(":")[0] for line in lines[:8]] == [
        "# new", "scope", "category", "confidence", "status", "horizon", "updated", "links",
    ]  # fmt: skip
    assert {"settles", "scenarios"} <= {line.partition(":")[0] for line in lines}


def test_f2_ids_have_their_prefixes_and_may_grow_past_999():
    prefixes = {name: kind.prefix for name, kind in KINDS.items() if kind.prefix and name != "approvals"}
    assert prefixes == {
        "views": "V", "expressions": "E", "observations": "O", "linkages": "L", "pk": "PK", "outcomes": "OUT",
        "counterfactuals": "CF", "proposals": "SEP", "reviews": "R", "settlements": "S", "fills": "F", "cash": "C",
    }  # fmt: skip
    right, wrong = (
        ("V-001", "V-999", "V-1000", "V-123456789"),
        ("V-000", "V-01", "V-0001", "v-001", "E-001", "V-1", "V-٠٠١"),
    )
    assert [name for name in right if not KINDS["views"].names(name)] == []
    assert [name for name in wrong if KINDS["views"].names(name)] == []


def test_f4_listings_summarize_records_of_each_kind():
    assert format_meta(NEW_VIEW) == "us_growth | conf:0.6 | active"
    assert format_meta(NEW_EXPRESSION) == "view:V-001 | active"
    pk = KINDS["pk"].cls(id="PK-001", skill=("rv-analysis",), category="rates", weight=0.5)
    assert format_meta(pk) == "w:0.5 | rates"
    counterfactual = KINDS["counterfactuals"].cls(id="CF-001", decision_type="rejected_expression")
    assert format_meta(counterfactual) == "rejected_expression | tracking"


TEXT = render(NEW_VIEW)


@pytest.mark.parametrize(
    ("text", "line", "reply"),
    [
        ("", 1, "starts with its id"),
        (TEXT.replace("# new", "# E-001"), 1, "starts with its id"),
        (TEXT.replace("confidence: 0.6", "confidence: high"), 4, "'high' is not a number"),
        (TEXT.replace("confidence: 0.6", "confidence: 1.5"), 4, "not from 0 to 1"),
        (TEXT.replace("confidence: 0.6", "confidence: NaN"), 4, "not a number"),
        (TEXT.replace("confidence: 0.6", "confidence:"), 4, "is empty"),
        (TEXT.replace("confidence: 0.6\n", ""), 1, "confidence: missing"),
        (TEXT.replace("status: active", "status: open"), 5, "not one of draft, active"),
        (TEXT.replace("horizon: 3m", "horizon: 3m\nhorizon: 6m"), 7, "horizon appears twice"),
        (TEXT.replace("horizon: 3m", "horizont: 3m"), 6, "did you mean horizon?"),
        (TEXT.replace("updated:", "updated: 2014-05-01"), 7, "date"),
        (TEXT.replace("links:", "links: a b"), 8, "separate names by commas"),
        (TEXT.replace("0.7}", "0.8}"), 9, "sum to 1.1"),
        (TEXT.replace('"probability": 0.7', '"probability": "0.7"'), 9, "not a number"),
        (TEXT.replace('"by": "2036-09-01"', '"by": "soon"'), 10, "not a date"),
        (TEXT.replace("close < 2.0", "it rains"), 10, "rule"),
        (TEXT.replace("\n---\n", "\n"), 15, "write --- on a line after them"),
        (TEXT.replace("Growth", "Gro\x00wth"), 15, "body"),
    ],
)
def test_an_invalid_record_is_refused_with_its_line_number(text, line, reply):
    with pytest.raises(RecordUnreadable) as caught:
        parse(KINDS["views"], text)
    assert reply in str(caught.value)
    assert caught.value.line == line


def test_an_active_view_without_a_settlement_question_is_refused():
    text = "\n".join(line for line in TEXT.split("\n") if not line.startswith("settles"))
    with pytest.raises(RecordUnreadable, match="line 5: status: an active View needs both `scenarios` and `settles`"):
        parse(KINDS["views"], text)
