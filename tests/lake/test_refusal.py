"""Refusal: a row that breaks any rule becomes a gap, and the other rows are published."""

from dataclasses import replace
from datetime import date, timedelta

import pyarrow as pa
import pytest

from pitlake.contract import Column
from pitlake.errors import CheckFailed
from pitlake.lake.publishing.refusal import OTHER_DAY, OUTDATED, TWO_ANSWERS, TWO_CONTENTS, judge
from pitlake.lake.publishing.stage import StagedGap, safe_locator, staged_schema
from tests.every import every
from tests.lake.world import BY_COLUMN, HISTORY, TOY, Toy, gaps, publish, rows, table, utc

DAY = date(2024, 3, 5)
NOON = utc("2024-03-05T12:00:00-05:00")
SEEN = utc("2024-03-06T12:00:00-05:00")
GOOD = Toy("good", "x", NOON)


def judged(lake, toys, *, change=lambda reply: reply, dataset=TOY, day=DAY):
    with lake.stage(dataset, "run") as stage:
        stage.add(day, change(table(toys, dataset)), extracted=len(toys))
        result = judge(stage.load(), SEEN)
        left = sorted(zip(result.staged.rows["key"].to_pylist(), result.staged.rows["text"].to_pylist(), strict=True))
        return left, result.staged.gaps.to_pylist(), {check.name: check for check in result.checks}


def refused_for(lake, toys, **options):
    """Return the failed check, the reasons and the locators of refused rows, after checking that the others remain."""
    left, lost, checks = judged(lake, toys, **options)
    assert [text for key, text in left if key == "good"] == ["x"]
    assert len(left) + len(lost) == len(toys)
    assert checks["conservation"].passed
    assert {gap["gap_type"] for gap in lost} <= {"unverifiable"}
    failing = [check for check in checks.values() if not check.passed]
    assert every(check.severity == "warning" for check in failing)
    (result,) = failing
    return result.name, {gap["reason"] for gap in lost}, [gap["locator"] for gap in lost]


def with_value(name, place, value):
    """Return a function that sets the value of a column in one row."""

    def change(reply):
        values = reply[name].to_pylist()
        values[place] = value
        kind = reply.schema.field(name).type
        return reply.set_column(reply.schema.get_field_index(name), name, pa.array(values, kind))

    return change


def test_no_row_of_a_clean_stage_is_refused(lake):
    left, lost, checks = judged(lake, [GOOD, Toy("a", "y", NOON)])
    assert (len(left), lost) == (2, [])
    assert list(checks) == [
        "gate", "row_rules", "partition_window", "identity_unique", "key_unique", "refused_share", "gaps_well_formed",
        "conservation",
    ]  # fmt: skip
    assert every(check.passed and check.severity == "blocking" for check in checks.values())


@pytest.mark.parametrize("text", ['{"daily_stock": 5.1}', '[{"x": {"Daily_Stock": 1}}]', "[" * 300])
def test_only_the_row_with_a_forbidden_key_or_too_deep_json_is_refused(lake, text):
    result = refused_for(lake, [GOOD, Toy("bad", text, NOON)])
    assert result == ("gate", {"refused by the gate: PIT_FORBIDDEN_FIELD"}, ["Toy:bad"])


def test_a_row_dated_after_its_observation_becomes_a_gap_dated_when_observed(lake):
    toys = [GOOD, Toy("late", "x", SEEN + timedelta(microseconds=1))]
    assert refused_for(lake, toys) == ("gate", {"refused by the gate: PIT_VIOLATION_GT_CUTOFF"}, ["Toy:late"])
    assert judged(lake, toys)[1][0]["available_at"] is None


def test_a_row_available_exactly_when_observed_passes(lake):
    assert judged(lake, [Toy("a", "x", SEEN)], day=date(2024, 3, 6))[1] == []


@pytest.mark.parametrize(
    ("name", "code"), [("available_at", "MISSING_AVAILABLE_AT"), ("available_at_source", "INVALID_AVAILABLE_AT_SOURCE")]
)
def test_the_gate_refuses_rows_without_an_instant_or_its_source(lake, name, code):
    result = refused_for(lake, [GOOD, Toy("a", "x", NOON)], change=with_value(name, 1, None))
    assert result == ("gate", {f"refused by the gate: PIT_{code}"}, ["Toy:a"])


def test_a_tag_of_another_dataset_breaks_a_rule(lake):
    change = with_value("available_at_source", 1, "edgar_accepted")
    result = refused_for(lake, [GOOD, Toy("a", "x", NOON)], change=change)
    assert result[:2] == ("row_rules", {"breaks the rule: available_at_source is neo4j_created"})


def test_a_row_with_null_in_a_required_column_is_refused(lake):
    result = refused_for(lake, [GOOD, Toy("a", "x", NOON)], change=with_value("key", 1, None))
    assert result == ("row_rules", {"breaks the rule: key is there"}, ["Toy:a"])


@pytest.mark.parametrize(("evidence", "rule"), [(None, "evidence is there"), (" ", "evidence is not blank")])
def test_a_refused_row_without_evidence_gets_a_locator_from_its_content(lake, evidence, rule):
    toys = [GOOD, Toy("a", "x", NOON)]
    name, reasons, (locator,) = refused_for(lake, toys, change=with_value("evidence", 1, evidence))
    assert (name, reasons) == ("row_rules", {f"breaks the rule: {rule}"})
    assert locator.startswith("toys:row:")
    assert refused_for(lake, toys[::-1], change=with_value("evidence", 0, evidence))[2] == [locator]


@pytest.mark.parametrize("text", ["2024-03-05T00:00:00-05:00", "2024-03-05T23:59:59.999999-05:00"])
def test_a_partition_holds_its_whole_new_york_day(lake, text):
    assert judged(lake, [Toy("a", "x", utc(text))])[1] == []


@pytest.mark.parametrize("text", ["2024-03-04T23:59:59.999999-05:00", "2024-03-06T00:00:00-05:00"])
def test_a_row_of_another_day_is_refused(lake, text):
    assert refused_for(lake, [GOOD, Toy("a", "x", utc(text))]) == ("partition_window", {OTHER_DAY}, ["Toy:a"])


def test_a_repeated_record_is_not_refused(lake):
    _, lost, checks = judged(lake, [GOOD] * 3)
    assert (lost, checks["identity_unique"].facts["seen_twice"]) == ([], 2)


@pytest.mark.parametrize(
    "other", [Toy("a", "y", NOON), Toy("a", "x", NOON + timedelta(seconds=1))], ids=["content", "instant"]
)
def test_conflicting_contents_of_one_identity_are_all_refused_as_a_single_gap(lake, other):
    toys = [GOOD, Toy("a", "x", NOON), other, Toy("a", "x", NOON)]
    assert refused_for(lake, toys) == ("identity_unique", {TWO_CONTENTS}, ["Toy:a"] * 3)
    published = publish(lake, toys, SEEN)
    assert [row.key for row in rows(lake)] == ["good"]
    (gap,) = gaps(lake)
    assert (gap["locator"], gap["available_at"]) == ("Toy:a", max(NOON, other.available_at))
    assert (published.total.extracted, published.total.published, published.total.gaps) == (4, 1, 3)


@pytest.mark.parametrize(
    ("dates", "stays"),
    [((1, 2), "2"), ((2, 1), "1"), ((1, 1), None), ((None, 2), None), ((1, 2, 2), None), ((3, 1, 2), "1")],
)
def test_the_content_with_the_latest_source_date_wins_a_conflict_of_contents(lake, dates, stays):
    toys = [
        Toy("a", str(number), NOON, day and NOON - timedelta(days=9 - day)) for number, day in enumerate(dates, start=1)
    ]
    left, lost, _ = judged(lake, [GOOD, *toys], dataset=BY_COLUMN)
    assert [text for key, text in left if key == "a"] == ([stays] if stays else [])
    assert {gap["reason"] for gap in lost} == {OUTDATED if stays else TWO_CONTENTS}


def test_a_good_record_stays_when_another_of_the_same_identity_is_refused(lake):
    left, lost, _ = judged(lake, [Toy("a", "x", NOON), Toy("a", '{"daily_return": 1}', NOON)])
    assert (left, len(lost)) == ([("a", "x")], 1)


def test_a_history_may_have_a_single_statement_per_identity_and_instant(lake):
    reply = [Toy("a", "x", NOON), Toy("a", "y", NOON + timedelta(seconds=1))]
    assert judged(lake, reply, dataset=HISTORY)[1] == []
    assert judged(lake, [*reply, Toy("a", "z", NOON)], dataset=HISTORY)[0] == [("a", "y")]


def test_two_rows_for_one_key_are_refused_without_a_tiebreak(lake):
    by_text = replace(TOY, identity=("key", "text"))
    toys = [GOOD, Toy("a", "x", NOON), Toy("a", "y", NOON)]
    assert refused_for(lake, toys, dataset=by_text) == ("key_unique", {TWO_ANSWERS}, ["Toy:a"] * 2)
    assert judged(lake, toys, dataset=replace(by_text, tiebreak=("text",)))[1] == []


QUOTE = replace(
    TOY,
    columns=(
        *TOY.columns,
        *(Column(name=name, type="float", meaning="A price.") for name in ("high", "low", "close")),
        Column(name="first", type="date", meaning="A day."),
        Column(name="last", type="date", meaning="A day."),
        Column(name="said", type="json", meaning="Anything."),
        Column(name="word", type="string", meaning="A word.", pattern="[a-z]+", strict=True),
        Column(name="lax", type="string", meaning="A word.", pattern="[a-z]+"),
    ),
    rules=("high >= low", "close > 0", "first <= last", "close < 1000"),
)


def quotes(*changes):
    """Return toys, and a function that makes their quotes: a good one, and one more for each change."""
    good = {"high": 2.0, "low": 1.0, "close": 1.5, "first": DAY, "last": DAY, "said": "{}", "word": "a", "lax": "a"}
    toys = [GOOD, *(Toy(f"q{number}", "y", NOON) for number in range(len(changes)))]
    listing = [row | good | change for row, change in zip(table(toys).to_pylist(), ({}, *changes), strict=True)]
    return toys, lambda _: pa.Table.from_pylist(listing, staged_schema(QUOTE))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"high": 0.5}, "high >= low"),
        ({"close": -5.0}, "close > 0"),
        ({"close": 0.0}, "close > 0"),
        ({"close": 1000.0}, "close < 1000"),
        ({"last": DAY - timedelta(days=1)}, "first <= last"),
        ({"close": float("inf")}, "close is finite"),
        ({"low": float("nan")}, "low is finite"),
        ({"said": '{"a":'}, "said is JSON"),
        ({"word": "two words"}, "word is like [a-z]+"),
        ({"word": "a\n"}, "word is like [a-z]+"),
    ],
)
def test_only_the_row_with_an_impossible_value_is_refused(lake, change, rule):
    toys, changed = quotes({}, change, {})
    result = refused_for(lake, toys, change=changed, dataset=QUOTE)
    assert result == ("row_rules", {f"breaks the rule: {rule}"}, ["Toy:q1"])


@pytest.mark.parametrize(
    "change", [{"high": None, "low": 9.0}, {"close": None}, {"close": 1e-9}, {"lax": "1"}, {"last": None}]
)
def test_unusual_but_possible_values_are_not_refused(lake, change):
    toys, changed = quotes(change)
    assert judged(lake, toys, change=changed, dataset=QUOTE)[1] == []


@pytest.mark.parametrize(
    ("bad", "good", "allowed", "passes"),
    [(9, 0, 0.01, True), (10, 990, 0.01, True), (10, 989, 0.01, False), (10, 989, 0.02, True), (11, 989, 0, False)],
)
def test_nothing_is_published_when_refused_records_exceed_the_contracts_share(lake, bad, good, allowed, passes):
    toys = [Toy(f"b{number}", '{"daily_return":1}', NOON) for number in range(bad)]
    toys += [Toy(f"g{number}", "x", NOON) for number in range(good)]
    dataset = replace(TOY, most_refused=allowed)
    lake.start()
    if passes:
        assert publish(lake, toys, SEEN, dataset=dataset).total.published == good
        return
    with pytest.raises(CheckFailed, match="nothing was published; see Toy:b0") as fault:
        publish(lake, toys, SEEN, dataset=dataset)
    assert (fault.value.check, fault.value.facts["refused"], fault.value.facts["PIT_FORBIDDEN_FIELD"]) == (
        "refused_share", bad, bad,
    )  # fmt: skip
    assert lake.head() == 0
    assert not (lake.root / "tables").exists()


@pytest.mark.parametrize(
    ("group", "makers", "passes"), [("external", 2, True), ("external", 3, False), ("graph", 1, False)]
)
def test_what_is_wrong_with_one_or_two_companies_does_not_stop_a_feed_of_several(lake, group, makers, passes):
    toys = [Toy(f"b{number}-{number % makers}", '{"daily_return":1}', NOON) for number in range(20)]
    toys += [Toy(f"g{number}", "x", NOON) for number in range(60) if number % 10 >= makers]
    (share,) = [
        check
        for check in judged(lake, toys, dataset=replace(TOY, group=group))[2].values()
        if check.name == "refused_share"
    ]
    assert (share.passed, share.facts["refused"]) == (passes, 20)


def test_a_few_bad_records_do_not_stop_the_good_records_of_a_run(lake):
    toys = [Toy(f"{number:04}", '{"daily_stock":1}' if number % 200 == 7 else "x", NOON) for number in range(2000)]
    published = publish(lake, toys, SEEN)
    assert (published.total.published, published.total.gaps) == (1990, 10)
    assert [row.key for row in rows(lake)] == sorted(toy.key for toy in toys if toy.text == "x")
    again = publish(lake, toys, SEEN + timedelta(hours=1))
    assert (again.changed, again.total.unchanged, again.total.gaps) == (False, 1990, 10)


def test_a_refused_record_that_was_fixed_is_dated_when_the_fix_was_observed(lake):
    publish(lake, [Toy("a", '{"daily_stock":1}', NOON)], SEEN)
    later = SEEN + timedelta(days=1)
    publish(lake, [Toy("a", "mended", NOON)], later)
    assert [(row.text, row.available_at) for row in rows(lake)] == [("mended", later)]


def test_a_published_record_stays_unchanged_when_its_new_content_is_refused(lake):
    publish(lake, [Toy("a", "x", NOON)], SEEN)
    publish(lake, [Toy("a", '{"daily_stock":1}', NOON)], SEEN + timedelta(days=1))
    assert [row.text for row in rows(lake)] == ["x"]
    assert [gap["available_at"] for gap in gaps(lake)] == [SEEN + timedelta(days=1)]


@pytest.mark.parametrize(
    "name", ['n:{"daily_stock": 5.1}', 'n:x{"a":[{"Daily_Stock":1}]}', 'n:"daily_stock":1', "n:" + "[" * 300]
)
def test_gap_locators_never_repeat_forbidden_content(lake, name):
    change = with_value("evidence", 1, name)
    _, _, (locator,) = refused_for(lake, [GOOD, Toy("bad", '{"daily_stock":1}', NOON)], change=change)
    assert locator == safe_locator(name)
    assert locator.startswith("n:")
    assert "daily" not in locator.lower()
    assert "[" not in locator
    publish(lake, [], SEEN, {DAY: [StagedGap("no_data", "no text", name)]})
    assert [gap["locator"] for gap in gaps(lake)] == [locator]


def test_a_harmless_locator_stays_as_it_is():
    for name in ("neo4j:News:bzNews_1", "a?b=[1]&item=2", 'neo4j:News:"quoted"', "daily_stock"):
        assert safe_locator(name) == name
