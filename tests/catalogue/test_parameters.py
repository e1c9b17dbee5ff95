"""Query parameters: every format that a caller may use, the bound value, and errors that give the field."""

import json
from datetime import date, datetime, timezone

import pytest

from pitlake.errors import BadInput
from pitlake.questions.parameters import spell


@pytest.mark.parametrize(
    ("kind", "inputs", "bound"),
    [
        ("ticker", " qbg ", "QBG"),
        ("text", " gross margin ", "gross margin"),
        ("texts", "a:B, c:D", ["a:B", "c:D"]),
        ("texts", '["a", "b,c"]', ["a", "b,c"]),
        ("texts", ("a",), ["a"]),
        ("int", "20", 20),
        ("int", 1, 1),
        ("moment", "2024-07-01", "2024-07-01T04:00:00Z"),
        ("moment", date(2024, 1, 1), "2024-01-01T05:00:00Z"),
        ("moment", "2024-02-15T16:00:00-05:00", "2024-02-15T21:00:00Z"),
        ("moment", datetime(2024, 2, 15, 21, tzinfo=timezone.utc), "2024-02-15T21:00:00Z"),
        ("day", "2024-02-15", "2024-02-15"),
        ("day", "2024-02-16T02:00:00Z", "2024-02-15"),
        ("vector", "[1, 0.5]", [1.0, 0.5]),
        ("vector", (1, 2), [1.0, 2.0]),
    ],
)
def test_every_accepted_spelling_is_bound_in_the_canonical_form(kind, inputs, bound):
    assert spell(kind, "field", inputs) == bound


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        ("ticker", ""),
        ("ticker", 7),
        ("text", "a\x00b"),
        ("texts", ""),
        ("texts", []),
        ("texts", [1]),
        ("int", "many"),
        ("int", 0),
        ("int", True),
        ("int", 2**31),
        ("int", 1.5),
        ("moment", "2024-02-30"),
        ("moment", "2024-02-15T16:00:00"),
        ("moment", "yesterday"),
        ("day", "02/15/2024"),
        ("vector", "[1, NaN]"),
        ("vector", "[]"),
        ("vector", [0.0, 0.0]),
        ("vector", ["1"]),
        ("vector", [True]),
        ("pairs", "[]"),
        ("pairs", "QBG"),
        ("pairs", [("QBG", "2024-01-01")]),
        ("pairs", [("QBG",)]),
        ("pairs", [{"ticker": "QBG"}]),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_by_field_name(kind, inputs):
    with pytest.raises(BadInput, match=r"^field: "):
        spell(kind, "field", inputs)


def test_pairs_become_json_with_instants_in_utc():
    bound = spell(
        "pairs", "pairs", [("qbg", "2024-02-15T16:00:00-05:00"), {"ticker": "A", "at": "2024-01-01T00:00:00Z"}]
    )
    assert json.loads(bound) == [
        {"ticker": "QBG", "at": "2024-02-15T21:00:00Z"},
        {"ticker": "A", "at": "2024-01-01T00:00:00Z"},
    ]
