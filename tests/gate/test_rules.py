"""The rules for one item and one envelope: every code, every fault, and the ways to hide a forward return."""

import json
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pitlake.datasets import all_datasets
from pitlake.gate import rules

NEW_YORK = ZoneInfo("America/New_York")
PIT = "2024-02-15T16:00:00-05:00"
CUTOFF = rules.parse_instant(PIT)
SOUND = {"available_at": PIT, "available_at_source": "edgar_accepted"}


def code_of(verdict):
    return verdict and verdict.code


def fault_of(text):
    with pytest.raises(rules.InstantFault) as caught:
        rules.parse_instant(text)
    return caught.value.fault


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-02-15T16:00:00Z", datetime(2024, 2, 15, 16, tzinfo=timezone.utc)),
        ("2024-02-15T16:00:00-05:00", datetime(2024, 2, 15, 21, tzinfo=timezone.utc)),
        ("2024-02-15T16:00:00.5+05:45", datetime(2024, 2, 15, 10, 15, 0, 500_000, timezone.utc)),
        ("2024-02-29T00:00:00.000001000Z", datetime(2024, 2, 29, 0, 0, 0, 1, timezone.utc)),
        ("0001-01-01T00:00:00-00:01", datetime(1, 1, 1, 0, 1, tzinfo=timezone.utc)),
        ("9999-12-31T23:59:59.999999+00:00", datetime(9999, 12, 31, 23, 59, 59, 999_999, timezone.utc)),
    ],
)
def test_a_strict_instant_is_read_exactly(text, expected):
    assert rules.parse_instant(text) == expected


FAULTY = {
    "empty": ["", "  ", None, 5, b"2024-02-15T16:00:00Z", True],
    "date_only": ["2024-02-15", "0000-99-99"],
    "naive": ["2024-02-15T16:00:00", "2024-02-30T16:00:00", "2024-02-15T16:00:00.0000001"],
    "impossible": [
        "2023-02-29T16:00:00Z", "2024-13-01T00:00:00Z", "2024-02-15T24:00:00Z", "2024-02-15T16:60:00Z",
        "2024-12-31T23:59:60Z", "2024-02-15T16:00:00+24:00", "2024-02-15T16:00:00+05:60", "2024-00-10T00:00:00Z",
    ],
    "out_of_range": ["0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00Z"],
    "too_precise": ["2024-02-15T16:00:00.0000001Z", "2024-02-15T16:00:00.123456789Z"],
    "not_iso": [
        "2024-02-15 16:00:00Z", "2024-02-15T16:00Z", "2024-02-15T16:00:00+0500", "2024-02-15T16:00:00-05",
        "2024-02-15t16:00:00z", "2024-02-15T16:00:00Z ", "2024-02-15T16:00:00Z\n", "2024-02-15T16:00:00,5Z",
        "２０２４-02-15T16:00:00Z", "+2024-02-15T16:00:00Z", "20240215T160000Z", "2024-02-15T16:00:00.Z", "now",
        "2024-02-15T16:00:00−05:00", "2024-02-15T16:00:00-04:56:02", "Thu, 15 Feb 2024 16:00:00 -0500",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("fault", "text"), [(fault, text) for fault, texts in FAULTY.items() for text in texts])
def test_an_invalid_instant_is_refused_and_the_error_names_the_fault(fault, text):
    assert fault_of(text) == fault


def test_every_fault_has_a_case_in_this_module():
    assert set(FAULTY) == set(rules.FAULTS)


@pytest.mark.parametrize("text", ["2024-02-31T16:00:00Z", "2024-02-15T99:00:00Z", "9124-secret"])
def test_a_fault_echoes_no_part_of_the_text(text):
    with pytest.raises(rules.InstantFault) as caught:
        rules.parse_instant(text)
    assert not any(part in str(caught.value) for part in ("31", "99", "9124", "secret"))


@given(
    st.datetimes(datetime.fromisoformat("1900-01-01"), datetime.fromisoformat("2200-01-01")), st.sampled_from([0, 1])
)
@example(datetime.fromisoformat("2024-03-10T02:30"), 0)
@example(datetime.fromisoformat("2024-11-03T01:30"), 0)
@example(datetime.fromisoformat("2024-11-03T01:30"), 1)
def test_new_york_wall_clock_times_are_parsed_to_the_right_instants(local, fold):
    moment = local.replace(tzinfo=NEW_YORK, fold=fold)
    assert rules.parse_instant(moment.isoformat()) == moment.astimezone(timezone.utc)


def test_the_cut_off_distinguishes_the_two_instants_of_the_repeated_autumn_hour():
    first, second = "2024-11-03T01:30:00-04:00", "2024-11-03T01:30:00-05:00"
    assert rules.check_item(SOUND | {"available_at": first}, rules.parse_instant(first)) is None
    assert code_of(rules.check_item(SOUND | {"available_at": second}, rules.parse_instant(first))) == (
        "PIT_VIOLATION_GT_CUTOFF"
    )


@pytest.mark.parametrize("zone", [timezone.utc, NEW_YORK, ZoneInfo("Asia/Tokyo"), timezone(-timedelta(hours=12))])
def test_the_cut_off_itself_passes_and_a_microsecond_later_does_not(zone):
    cutoff = CUTOFF.astimezone(zone)
    later = (CUTOFF + timedelta(microseconds=1)).isoformat()
    assert rules.check_item(SOUND, cutoff) is None
    assert code_of(rules.check_item(SOUND | {"available_at": later}, cutoff)) == "PIT_VIOLATION_GT_CUTOFF"


@pytest.mark.parametrize("cutoff", [datetime.fromisoformat("2024-01-01"), pd.NaT, PIT, 0, "now"])
def test_a_cut_off_that_is_not_an_aware_datetime_refuses_every_item(cutoff):
    assert code_of(rules.check_item(SOUND, cutoff)) == "PIT_INVALID_PIT"


def test_without_a_cut_off_everything_else_is_still_judged():
    assert rules.check_item(SOUND | {"available_at": "9999-01-01T00:00:00Z"}, None) is None
    assert code_of(rules.check_item(SOUND | {"daily_stock": 1}, None)) == "PIT_FORBIDDEN_FIELD"


def with_each(name, *values):
    return [SOUND | {name: value} for value in values]


ITEMS = {
    "PIT_INVALID_ITEM_TYPE": [None, [], "text", 5, [SOUND]],
    "PIT_MISSING_AVAILABLE_AT": [{}, *with_each("available_at", None, "", 5, True, [PIT])],
    "PIT_INVALID_AVAILABLE_AT_FORMAT": with_each("available_at", "2024-02-15", " ", "now"),
    "PIT_MISSING_TZ": with_each("available_at", "2024-02-15T10:00:00"),
    "PIT_INVALID_AVAILABLE_AT_SOURCE": [
        {"available_at": PIT},
        *with_each("available_at_source", None, "", 5, "cross_reference", "EDGAR_ACCEPTED", ["edgar_accepted"]),
    ],
    "PIT_VIOLATION_GT_CUTOFF": with_each("available_at", "2024-02-15T16:00:01-05:00"),
    "PIT_FORBIDDEN_FIELD": [SOUND | {"daily_return": None}, SOUND | {"deep": [{"x": {"Session_Macro": 1}}]}],
}


@pytest.mark.parametrize(("code", "item"), [(code, item) for code, items in ITEMS.items() for item in items])
def test_an_item_gets_the_code_of_the_rule_it_breaks(code, item):
    assert code_of(rules.check_item(item, CUTOFF)) == code


def test_the_first_broken_rule_decides():
    everything_wrong = {"daily_stock": 1, "available_at": None, "available_at_source": None}
    mended = [{"daily_stock": 1}, {}, {"available_at": "2024-02-16T10:00:00"}, {"available_at": "2024-02-16T10:00:00Z"}]
    mended.append(mended[-1] | {"available_at_source": "edgar_accepted"})
    codes = [code_of(rules.check_item(item, CUTOFF)) for item in (everything_wrong, *mended)]
    assert codes == [
        "PIT_FORBIDDEN_FIELD",
        "PIT_FORBIDDEN_FIELD",
        "PIT_MISSING_AVAILABLE_AT",
        "PIT_MISSING_TZ",
        "PIT_INVALID_AVAILABLE_AT_SOURCE",
        "PIT_VIOLATION_GT_CUTOFF",
    ]


def test_there_are_exactly_thirteen_forbidden_keys():
    assert {
        "daily_stock", "hourly_stock", "session_stock", "daily_return", "daily_macro", "daily_industry", "daily_sector",
        "hourly_macro", "hourly_industry", "hourly_sector", "session_macro", "session_industry", "session_sector",
    } == rules.FORBIDDEN_KEYS  # fmt: skip


@pytest.mark.parametrize(
    "key",
    [
        "DAILY_STOCK", "Daily_Return", " daily_stock ", "daily_stock\x00", "dai\x7fly_stock", "daily\u200b_stock",
        "ｄａｉｌｙ＿ｓｔｏｃｋ", "𝐝𝐚𝐢𝐥𝐲_𝐬𝐭𝐨𝐜𝐤", "dаily_stock", "DAİLY_STOCK", "daıly_stock", "dáily_stock",
        "\ufeffdaily_stock", "daily_stock\ud800", "daily‿stock", "ⓓaily_stock", "daily_\u115fstock", "seßion_stock",
        b"daily_stock", "daily\t_stock", "daily_ﬆock",
    ],
)  # fmt: skip
def test_a_forbidden_key_is_recognised_in_every_unicode_disguise(key):
    assert rules.is_forbidden_key(key)


@pytest.mark.parametrize(
    "key", ["daily_stocks", "xdaily_stock", "daily", "daily_stock_price", "hourly_return", "dailystock", "", 5, None]
)
def test_a_key_that_merely_resembles_a_forbidden_one_passes(key):
    assert not rules.is_forbidden_key(key)


def test_a_forbidden_word_in_a_value_passes():
    assert rules.check_item(SOUND | {"title": "daily_stock", "list": ["daily_return", '"daily_stock"']}, CUTOFF) is None


ESCAPED = '{"daily\\u005fstock": 1}'
HIDDEN = {
    "an object": '{"daily_stock": 1}',
    "an array": '[[{"a": [{"DAILY_STOCK": 1}]}]]',
    "escapes": ESCAPED,
    "escapes in a string in a string": json.dumps(json.dumps(ESCAPED)),
    "an escaped escape": '"{\\"daily_\\u005cu0073tock\\": 1}"',
    "a byte order mark": '\ufeff{"daily_stock": 1}',
    "a no-break space": '\xa0\u2003{"daily_stock": 1}',
    "control characters": '\x00\x1f{"daily_stock": 1}',
    "a repeated key": '{"a": {"daily_stock": 1}, "a": 2}',
    "a repeated forbidden key": '{"daily_stock": 1, "daily_stock": 1}',
    "a number Python refuses to read": '{"daily_stock": ' + "1" * 5000 + "}",
    "a number Python refuses to read, beside a disguise": '{"n": ' + "1" * 5000 + ', "daily\\n_stock": 2}',
    "a number beside it": '{"n": ' + "1" * 5000 + ', "daily_stock": 2}',
    "not a number": '{"daily_stock": NaN}',
    "a newline in a string": '{"a": "x\ny", "daily\\t_stock": 1}',
    "two documents": '{"a": 1}\n{"daily_stock": 2}',
    "a trailing comma": '{"a": 1, "daily_stock": 2,}',
    "a Python dict": "{'daily_stock': 1}",
    "a bare name": "{a: 1, daily_stock: 2}",
    "an unfinished object": '{"daily_stock": 1',
    "an escaped name in broken JSON": '{"daily\\u005fstock": 1,}',
    "an escaped escape in broken JSON": '{"daily\\u005cu005fstock": 1,}',
    "escapes without end in broken JSON": "{" + "\\u005c" + "u005c" * 50_000,
    "a lone surrogate": '{"daily_stock\\ud800": 1}',
    "deep arrays": "[" * 10_000 + "]" * 10_000,
    "deep objects": '{"a":' * 10_000 + "1" + "}" * 10_000,
    "deep and unfinished": "[" * 201,
    "bytes": b'{"daily_stock": 1}',
}


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_a_forbidden_key_in_json_hidden_in_a_string_is_found(text):
    assert code_of(rules.check_item(SOUND | {"raw": text}, CUTOFF)) == "PIT_FORBIDDEN_FIELD"
    assert code_of(rules.check_item(SOUND | {"list": ["x", {"raw": [text]}]}, CUTOFF)) == "PIT_FORBIDDEN_FIELD"


@pytest.mark.parametrize(
    "text",
    [
        '"We see daily returns", she said: daily_stock: up', "[Update] daily_return", '{"daily": {"stock": 1}}', "{",
        '["daily_stock"]', "[" * 199 + "]" * 199, '["x' + "[{" * 1000 + '"]', '{"a": ' + "1" * 5000 + "}", "{}", '"',
        "", "x" * 10_000, '{"\\ud83d\\ude00": "\\ud800"}', 'The JSON was {"daily_stock": 1}',
    ],
)  # fmt: skip
def test_text_that_hides_nothing_passes(text):
    assert rules.check_item(SOUND | {"raw": text}, CUTOFF) is None


def nested(levels, wrap):
    value = 1
    for _ in range(levels):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: {"a": x}, lambda x: (x,)], ids=["lists", "dicts", "tuples"])
def test_ten_thousand_levels_are_refused_without_a_crash(wrap):
    assert code_of(rules.check_item(SOUND | {"deep": nested(10_000, wrap)}, CUTOFF)) == "PIT_FORBIDDEN_FIELD"
    assert rules.check_item(SOUND | {"deep": nested(rules.MAX_DEPTH, wrap)}, CUTOFF) is None


def test_a_value_that_contains_itself_is_refused():
    loop = {}
    loop["again"] = [loop]
    assert rules.forbidden_path(loop)


def test_the_depth_limit_does_not_depend_on_the_remaining_stack():
    def at(frames):
        return rules.forbidden_path("[" * 150 + "]" * 150) if frames == 0 else at(frames - 1)

    assert at(0) is at(sys.getrecursionlimit() // 2) is None


@pytest.mark.parametrize("value", [object(), range(3), iter([]), {1: memoryview(b"")}, type])
def test_a_value_that_cannot_be_searched_is_refused(value):
    assert code_of(rules.check_item(SOUND | {"odd": value}, CUTOFF)) == "PIT_FORBIDDEN_FIELD"


def test_details_name_places_and_never_values():
    item = SOUND | {"raw": json.dumps({"EPS beat 4.20": {"daily_stock": "canary"}, "b": 1})}
    detail = rules.check_item(item, CUTOFF, "data[3]").detail
    assert detail.startswith("data[3]")
    assert detail.endswith("$.raw.*.*.daily_stock")


def test_a_path_spells_the_forbidden_key_canonically_and_masks_odd_keys():
    assert rules.forbidden_path({"Ｄaily_Ｓtock": 1}) == "$.daily_stock"
    assert rules.forbidden_path({"an odd key": {"DAILY_stock": 1}}) == "$.*.daily_stock"


def test_a_long_path_is_cut():
    item = nested(30, lambda inner: {"k": inner} if inner != 1 else {"daily_stock": 1})
    assert rules.forbidden_path(item) == "$.k.k.k.k.k.k.k.…"


def envelope(*data, **other):
    return {"data": list(data), "gaps": []} | other


GAP = {"type": "no_data", "reason": "nothing was filed"}


@pytest.mark.parametrize("payload", [envelope(SOUND), envelope(), {"data": [SOUND]}, envelope(SOUND, gaps=[GAP])])
def test_a_sound_envelope_passes_as_object_and_as_text(payload):
    assert rules.check_envelope(payload, PIT) is None
    assert rules.check_text(json.dumps(payload), PIT) is None
    assert rules.check_text(json.dumps(payload).encode(), PIT) is None


ENVELOPES = [
    ("PIT_INVALID_PIT", envelope(SOUND), "2024-02-15"),
    ("PIT_INVALID_PIT", None, None),
    ("PIT_INVALID_PIT", [], "2024-02-15T16:00:00"),
    ("PIT_INVALID_JSON", [SOUND], PIT),
    ("PIT_INVALID_JSON", None, PIT),
    ("PIT_MISSING_ENVELOPE", {}, PIT),
    ("PIT_MISSING_ENVELOPE", {"data": SOUND}, PIT),
    ("PIT_MISSING_ENVELOPE", {"data": None, "daily_stock": 1}, PIT),
    ("PIT_MISSING_ENVELOPE", {"data": [], "gaps": {}}, PIT),
    ("PIT_FORBIDDEN_FIELD", envelope(SOUND, gaps=[GAP | {"daily_stock": 1}]), PIT),
    ("PIT_FORBIDDEN_FIELD", envelope(5, extra={"daily_stock": 1}), PIT),
    ("PIT_INVALID_ITEM_TYPE", envelope(SOUND, [SOUND]), PIT),
    ("PIT_INVALID_ITEM_TYPE", envelope(SOUND, gaps=["later"]), PIT),
    *(
        ("PIT_INVALID_ITEM_TYPE", envelope(gaps=[GAP | {"type": kind}]), PIT)
        for kind in ("banana", "config", "internal_error", "invalid_pit", "NO_DATA", "", None, 5, ["no_data"], {})
    ),
    ("PIT_INVALID_ITEM_TYPE", envelope(gaps=[{"reason": "nothing was filed"}]), PIT),
    ("PIT_MISSING_ENVELOPE", {"result": "x"}, PIT),
    ("PIT_VIOLATION_GT_CUTOFF", envelope(SOUND, SOUND | {"available_at": "2024-02-16T00:00:00Z"}), PIT),
    ("PIT_VIOLATION_GT_CUTOFF", envelope(gaps=[GAP | {"available_at": "2024-02-16T00:00:00Z"}]), PIT),
    ("PIT_MISSING_TZ", envelope(gaps=[GAP | {"available_at": "2024-02-14T00:00:00"}]), PIT),
]


@pytest.mark.parametrize(("code", "payload", "pit"), ENVELOPES)
def test_a_broken_envelope_gets_its_code_as_object_and_as_text(code, payload, pit):
    assert code_of(rules.check_envelope(payload, pit)) == code
    assert code_of(rules.check_text(json.dumps(payload), pit)) == code


def test_the_detail_names_the_first_failing_item():
    late = SOUND | {"available_at": "2024-02-16T00:00:00Z"}
    assert rules.check_envelope(envelope(SOUND, late, {}), PIT).detail.startswith("data[1] ")


@pytest.mark.parametrize(
    "text",
    [
        "", " ", None, 5, [], b"\xff", "{", '{"data": [],}', '{"data": [], "data": []}', '{"data": [{"a": 1, "a": 1}]}',
        '{"data": [], "x": NaN}', '{"data": [], "x": -Infinity}', '{"data": [], "x": ' + "1" * 5000 + "}",
        '{"data": []} {"data": []}', "\ufeff{}", "[" * 100_000,
    ],
)  # fmt: skip
def test_text_that_is_not_strict_json_is_refused(text):
    assert code_of(rules.check_text(text, PIT)) == "PIT_INVALID_JSON"


def test_a_bad_cut_off_is_named_before_bad_json():
    assert code_of(rules.check_text("{", "2024-02-15")) == "PIT_INVALID_PIT"


@pytest.mark.parametrize("text", ["", "{", "[]", "5", None, '{"a": 1, "a": 2}', "[" * 100_000])
def test_a_call_that_is_not_a_json_object_is_a_parse_error(text):
    assert code_of(rules.read_call(text)) == "PIT_PARSE_ERROR"


def test_a_sound_call_is_read():
    assert rules.read_call('{"tool_name": "query"}') == {"tool_name": "query"}


def test_nothing_passes_when_the_gate_itself_fails(monkeypatch):
    def broken(*_):
        raise MemoryError

    monkeypatch.setattr(rules, "check_envelope", broken)
    assert code_of(rules.check_text(json.dumps(envelope(SOUND)), PIT)) == "PIT_PARSE_ERROR"


def test_every_code_can_occur():
    produced = {code_of(rules.check_item(item, CUTOFF)) for items in ITEMS.values() for item in items}
    produced |= {code_of(rules.check_envelope(payload, pit)) for _, payload, pit in ENVELOPES}
    produced |= {code_of(rules.check_text("{", PIT)), code_of(rules.read_call("{"))}
    assert produced == set(rules.CODES)


@given(
    st.recursive(
        st.none() | st.text() | st.floats() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_value_gets_a_verdict(value):
    assert code_of(rules.check_text(json.dumps(value), PIT)) in rules.CODES
    rules.check_item({"any": value}, CUTOFF)


def test_there_are_exactly_four_source_tags_and_datasets_use_no_others():
    assert rules.SOURCES == ("neo4j_created", "edgar_accepted", "time_series_timestamp", "provider_metadata")
    assert {dataset.source_tag for dataset in all_datasets().values()} <= set(rules.SOURCES)


# The first and last character of each range that readers do not see in a key.
UNSEEN = [
    (0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x300, 0x36F), (0x483, 0x489), (0x61C, 0x61C), (0x115F, 0x1160),
    (0x1680, 0x1680), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x2000, 0x200F),
    (0x2028, 0x202F), (0x205F, 0x206F), (0x20D0, 0x20FF), (0x2800, 0x2800), (0x3000, 0x3000), (0x3164, 0x3164),
    (0xD800, 0xDFFF), (0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip


@pytest.mark.parametrize(("first", "last"), UNSEEN)
def test_invisible_characters_do_not_hide_a_forbidden_key(first, last):
    for code in (first, (first + last) // 2, last):
        for key in (f"daily{chr(code)}_stock", f"{chr(code)}daily_stock", f"daily_stock{chr(code)}"):
            assert rules.is_forbidden_key(key), hex(code)
    assert tuple(UNSEEN) == rules.UNSEEN
