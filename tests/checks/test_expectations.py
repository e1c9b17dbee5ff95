"""Expectations are generated from every contract, pass on clean rows, and detect each violation."""

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from functools import cache

import hypothesis
import pyarrow as pa
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st

from assets.runs import attempt_partitions
from checks.expectations import BLOCKING, WARNING, expectation, expected, frame, library, validate
from checks.suites import main
from pitlake import clock
from pitlake.contract import Column
from pitlake.datasets import all_datasets
from pitlake.errors import CheckFailed
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.expectations import row_tests, rules, window_of
from pitlake.lake.publishing.stage import staged_schema
from pitlake.lake.tables.query import calculator
from tests.toys import NOTES, OBSERVED, TOY, ToyGraph, between, stored

NOON = datetime(2024, 3, 8, 17, tzinfo=timezone.utc)
WINDOW = (NOON - timedelta(days=1), NOON + timedelta(days=1))
PLAIN = {
    "string": "text", "int": 5, "float": 5.5, "bool": True, "instant": NOON, "date": date(2024, 3, 8), "json": "{}",
    "strings": ["a"], "vector": [0.5],
}  # fmt: skip
OTHERS = {"string": "other", "int": 6, "float": 6.5, "instant": NOON + timedelta(hours=1), "date": date(2024, 3, 9)}


@cache
def matching(pattern):
    """Return two strings that match a pattern."""
    texts = st.from_regex(pattern, fullmatch=True)
    quick = settings(phases=[Phase.generate], database=None, derandomize=True)
    first = hypothesis.find(texts, str.isascii, settings=quick)
    return first, hypothesis.find(texts, lambda text: text.isascii() and text != first, settings=quick)


def fitting(column, other=False):
    """Return a value that the contract allows, or a second one if `other` is set and there is one."""
    if column.values:
        return column.values[0]
    if column.pattern:
        return matching(column.pattern)[int(other)]
    if column.minimum is not None or column.maximum is not None:
        bound = column.minimum if column.minimum is not None else column.maximum
        return int(bound) if column.type == "int" else float(bound)
    return (OTHERS if other else PLAIN)[column.type]


def clean(dataset):
    """Return two rows that meet the contract: a complete row, and a row of another identity with all allowed nulls."""
    full = {column.name: fitting(column) for column in dataset.columns}
    full |= {clock.AVAILABLE_AT: NOON, "available_at_source": dataset.source_tag, "evidence": "toy:1"}
    bare = {name: full[name] if not dataset.arrow_schema.field(name).nullable else None for name in full}
    for names in (dataset.key, dataset.identity):
        column = next(column for column in dataset.columns if column.name in names and not column.values)
        bare[column.name] = fitting(column, other=True)
    return pa.Table.from_pylist([full, bare], staged_schema(dataset))


def with_value(rows, name, value):
    place, kind = rows.schema.get_field_index(name), rows.schema.field(name).type
    return rows.set_column(place, name, pa.array([value, value], kind))


def broken(rows, rule):
    """Return the rows changed so that they break this rule."""
    name = rule.arguments.get("column", "")
    match rule.kind:
        case "ExpectColumnValuesToNotBeNull":
            return with_value(rows, name, None)
        case "ExpectColumnValuesToBeUnique" | "ExpectCompoundColumnsToBeUnique":
            return pa.concat_tables([rows, rows.slice(1)])
        case "ExpectColumnValuesToBeInSet":
            return with_value(rows, name, "unheard of")
        case "ExpectColumnValuesToBeBetween":
            low, high = rule.arguments.get("min_value"), rule.arguments.get("max_value")
            if isinstance(low or high, datetime):
                return with_value(rows, name, high + timedelta(microseconds=1))
            outside = high * 2 + 1 if high is not None else low - 1
            return with_value(
                rows, name, int(outside) if pa.types.is_integer(rows.schema.field(name).type) else outside
            )
        case "ExpectColumnPairValuesAToBeGreaterThanB":
            names = rule.arguments["column_A"], rule.arguments["column_B"]
            low = rows[names[0]].to_pylist()[0]
            less = timedelta(days=1) if isinstance(low, date) else 1
            return with_value(with_value(rows, names[0], low), names[1], low + less)
        case "ExpectColumnValuesToMatchRegex":
            return with_value(rows, name, " \n" if name == "evidence" else "\n?\n")
        case "ExpectColumnValuesToBeJsonParseable":
            return with_value(rows, name, '{"a":')


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", all_datasets())
def test_every_expectation_passes_on_clean_rows_and_fails_on_broken_rows(name):
    dataset = all_datasets()[name]
    listing, rows = rules(dataset, WINDOW), clean(dataset)
    assert validate(rows, listing) == {}
    assert len({rule.name for rule in listing}) == len(listing)
    for kind in {rule.kind for rule in listing}:
        alike = [rule for rule in listing if rule.kind == kind]
        if kind == "ExpectColumnPairValuesAToBeGreaterThanB":  # such rules share columns, so each is broken separately
            assert [rule.name for rule in alike if rule.name not in validate(broken(rows, rule), [rule])] == []
            continue
        worse = rows
        for rule in alike:
            worse = broken(worse, rule)
        assert {rule.name for rule in alike} - validate(worse, alike).keys() == set()


@pytest.mark.parametrize("name", all_datasets())
def test_every_statement_of_a_contract_becomes_an_expectation(name):
    dataset = all_datasets()[name]
    text = "\n".join(rule.name for rule in rules(dataset, WINDOW))
    for column in dataset.columns:
        assert not column.required or f"{column.name} is there" in text
        assert [value for value in column.values if value not in text] == []
        assert column.pattern in text
    assert f"one row per {', '.join(dataset.identity)}" in text


def test_an_expectation_carries_its_name_and_severity():
    outcome = map(expectation, rules(all_datasets()["dividends"], WINDOW))
    levels = {each.meta["rule"]: each.severity for each in outcome}
    assert levels["ticker is there"] == "critical"
    assert levels["currency is like [A-Z]{3}"] == "warning"


def test_the_window_spans_the_days_of_a_run_up_to_the_observation():
    whole = window_of(("2024-03-08", "2024-03-09"), OBSERVED)
    assert whole == (clock.start_of_new_york_day(date(2024, 3, 8)),
                     clock.end_of_new_york_day(date(2024, 3, 9)) - timedelta(microseconds=1))  # fmt: skip
    assert window_of(("2024-03-08",), NOON)[1] == NOON
    assert window_of(("2024-03-08", "undated"), OBSERVED) == window_of((), OBSERVED) == (None, OBSERVED)


def limited(**limits):
    message = Column(name="said", type="string", meaning="What was said.", **limits)
    return replace(TOY, dataset=replace(NOTES, columns=(NOTES.columns[0], message)))


@pytest.fixture
def attempt(tmp_path):
    toy, lake = ToyGraph(), Lake(tmp_path / "lake")
    for number in range(20):
        toy.write(f"n{number:02}", f"2024-03-10T12:{number:02}:00-04:00", "no" if number < 7 else "yes")

    def run(extractor):
        days = between("2024-03-10", "2024-03-10")
        report = attempt_partitions(extractor, days, toy, lake, run_id="r", audits=(expected,))
        return report, {check.name: check for check in report.checks}, lake

    return run


def test_rows_that_break_a_strict_expectation_become_gaps(attempt):
    report, checks, lake = attempt(limited(values=("yes",), strict=True))
    assert (report.outcome.total.published, report.outcome.total.gaps) == (13, 7)
    assert {row["said"] for row in stored(lake)} == {"yes"}
    result = checks["row_rules"]
    assert (result.passed, result.facts["said is one of yes"], result.facts["rows"]) == (False, 7, 20)
    assert result.examples == tuple(f"toy:n0{number}" for number in range(5))
    assert (checks[BLOCKING].passed, checks[BLOCKING].facts["rows"], checks[WARNING].passed) == (True, 13, True)


def test_nothing_is_published_when_the_two_engines_disagree_on_a_row(attempt, monkeypatch):
    monkeypatch.setattr("pitlake.lake.publishing.refusal.row_tests", lambda dataset: row_tests(dataset)[:1])
    report, checks, lake = attempt(limited(values=("yes",), strict=True))
    assert isinstance(report.outcome, CheckFailed)
    assert (lake.head(), stored(lake)) == (0, [])
    assert checks[BLOCKING].facts["said is one of yes"] == 7


def test_a_broken_non_strict_expectation_warns_but_still_publishes(attempt):
    report, checks, lake = attempt(limited(pattern="y.*"))
    assert report.outcome.version == lake.head() == 1
    assert (checks[BLOCKING].passed, checks[WARNING].passed) == (True, False)
    assert checks[WARNING].facts["said is like y.*"] == 7


def test_check_reports_are_returned_newest_first(attempt):
    attempt(limited(values=("yes",), strict=True))
    report, _, lake = attempt(limited(values=("yes", "no")))
    newest, before = lake.check_reports("notes")
    assert (newest.version, newest.refusal, newest.checks) == (report.outcome.version, "", report.checks)
    assert [check.name for check in before.checks if not check.passed] == ["row_rules"]


def test_a_record_staged_twice_is_validated_once(tmp_path):
    toy = ToyGraph()
    toy.write("a", "2024-03-10T12:00:00-04:00")
    doubled = replace(TOY, windows=("window", "window"))
    report = attempt_partitions(
        doubled, between("2024-03-10", "2024-03-10"), toy, Lake(tmp_path / "lake"), run_id="r", audits=(expected,)
    )
    assert {check.name: check.facts.get("rows") for check in report.checks}[BLOCKING] == 1
    assert report.outcome.total.unchanged == 1


BAR = {"open": 5.0, "high": 6.0, "low": 4.0, "close": 5.5, "volume": 100}


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("name", "change", "rule"),
    [
        ("prices", {"close": -5.0}, "close > 0"),
        ("prices", {"high": 3.0}, "high >= open"),
        ("prices", {"low": 5.2}, "low <= open"),
        ("prices", {"volume": -1.0}, "volume >= 0"),
        ("prices", {"volume": 0.0, "vwap": 0.0}, None),
        ("prices", {"open": None, "high": None}, None),
        ("av_daily_bars", {"low": 7.0}, "high >= low"),
        ("av_intraday_bars", {"close": 0.0}, "close > 0"),
        ("splits", {"split_to": 0.0}, "split_to > 0"),
        ("polygon_splits", {"split_from": -1.0}, "split_from > 0"),
        ("dividends", {"cash_amount": -0.1}, "cash_amount > 0"),
        ("xbrl_facts", {"period_start": date(2024, 3, 9)}, "period_start <= period_end"),
        ("xbrl_facts", {"value_number": -4.2}, None),
        ("sec_facts", {"period_start": date(2024, 3, 9)}, "period_start <= period_end"),
        ("av_earnings", {"reported_eps": -1.5, "surprise": -9.0}, None),
        (
            "av_estimates",
            {"eps_estimate_high": -2.0, "eps_estimate_low": -1.0},
            "eps_estimate_high >= eps_estimate_low",
        ),
        ("av_estimates", {"eps_estimate_high": -1.0, "eps_estimate_low": -2.0}, None),
        ("macro_observations", {"value": -37.63}, None),
        ("market_quotes", {"value": -0.5}, None),
        ("event_returns", {"percent": -100.5}, "percent >= -100"),
        ("calendar", {"market_close": NOON - timedelta(hours=1)}, "market_open <= market_close"),
        ("earnings_outcomes", {"end_close": 0.0}, "end_close > 0"),
        ("earnings_snapshots", {"known_at": NOON + timedelta(days=1)}, "known_at <= as_of"),
        ("drift", {"low": 0.9, "high": 0.1}, "low <= high"),
    ],
)
def test_both_engines_refuse_impossible_values_and_accept_possible_values(name, change, rule):
    dataset = all_datasets()[name]
    good = clean(dataset).to_pylist()[0]
    row = good | {key: value for key, value in BAR.items() if {*BAR} <= {*good}} | change
    rows = pa.Table.from_pylist([row], staged_schema(dataset))
    with calculator(staged=rows) as sql:
        broken = [each.name for each in row_tests(dataset) if sql.sql(f"FROM staged WHERE NOT ({each.sql})").fetchall()]
    assert (rule in broken) if rule else broken == []
    blocking = {rule.name for rule in rules(dataset, WINDOW) if rule.severity == "blocking"}
    assert blocking.intersection(validate(rows, rules(dataset, WINDOW))) == {*broken}


def test_exported_checkpoints_run_in_great_expectations_alone(tmp_path):
    gx = library()
    assert main([str(tmp_path)]) == 0
    context = gx.get_context(mode="file", project_root_dir=tmp_path)
    names = {f"pitlake.{name}" for name in all_datasets()}
    assert {each.name for each in context.checkpoints.all()} == {each.name for each in context.suites.all()} == names
    good = clean(all_datasets()["prices"])
    broken = {f"high >= {price}" for price in ("open", "low", "close")}
    for rows, failed in ((good, set()), (with_value(good, "high", 1.0), broken)):
        outcome = context.checkpoints.get("pitlake.prices").run({"dataframe": frame(rows)})
        (result,) = outcome.run_results.values()
        assert outcome.success == (not failed)
        assert {each.expectation_config.meta["rule"] for each in result.results if not each.success} == failed
        assert len(result.results) > 15


def test_an_export_needs_one_folder(capsys):
    assert main([]) == 2
    assert "name the folder to write" in capsys.readouterr().err
