"""The first run after a source changes its form is refused: nothing is published, and the run leaves no trace."""

import json
import random
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta

import pytest

from assets.graph import all_extractors
from assets.runs import attempt_partitions
from pitlake.errors import CheckFailed
from pitlake.lake.lake import Lake
from pitlake.lake.publishing import windows
from tests.assets.drifts import drift, noticed, ordinary
from tests.assets.feed_drifts import FEED_KINDS, HIDDEN
from tests.assets.poisoned import KINDS, PoisonedGraph
from tests.toys import NOTES, OBSERVED, TOY, ToyGraph, seen

DAYS = [date(2024, 5, day) for day in (1, 2, 3, 6, 7)]
NEWS, _, _, BARS = KINDS[:4]


def source(kind, count=100):
    """Return records of a kind, spread over the days."""
    return [kind.make(number, DAYS[number % len(DAYS)]) for number in range(count)]


def attempt(lake, kind, records, *, at=OBSERVED, days=DAYS, run_id="r"):
    extractor = replace(all_extractors()[kind.name], prepared=None)
    graph = PoisonedGraph(extractor, kind.dated, records)
    return attempt_partitions(
        extractor, [*days, days[-1] + timedelta(days=1)], graph, lake, run_id=run_id, observed_at=at
    )


def drift_of(report):
    (check,) = [check for check in report.checks if check.name == "drift"]
    return check


def is_refused(report):
    return isinstance(report.outcome, CheckFailed) and report.outcome.check == "drift"


def changed(records, **values):
    return [record | values for record in records]


def test_a_renamed_property_is_refused_and_named(lake):
    attempt(lake, NEWS, source(NEWS))
    report = attempt(lake, NEWS, changed(source(NEWS), title=None), at=OBSERVED + timedelta(days=1))
    assert is_refused(report)
    facts = drift_of(report).facts
    assert facts["title of revised rows"] == "100 % of 100 rows are null, empty or 0, 0 % in the lake"
    assert facts["revised"] == "100 % of the 100 records that the lake has differ from their rows there"
    assert "allow_drift" in str(report.outcome)


def test_a_list_that_is_emptied_is_refused_and_named(lake):
    channels = json.dumps(["Earnings", "News"])
    attempt(lake, NEWS, changed(source(NEWS), channels=channels))
    report = attempt(lake, NEWS, changed(source(NEWS), channels="[]"), at=OBSERVED + timedelta(days=1))
    assert is_refused(report)
    assert "channels of revised rows" in drift_of(report).facts


@pytest.mark.parametrize(("without_title", "share"), [(40, 100), (30, 75)])
def test_a_property_that_is_renamed_for_new_records_alone_is_refused(lake, without_title, share):
    attempt(lake, NEWS, source(NEWS, 500), days=DAYS)
    new = [NEWS.make(1000 + number, date(2024, 5, 8)) for number in range(40)]
    new[:without_title] = changed(new[:without_title], title=None)
    report = attempt(lake, NEWS, [*source(NEWS, 500), *new], days=[date(2024, 5, 8)], at=OBSERVED + timedelta(days=1))
    assert is_refused(report)
    expected = f"{share} % of 40 rows are null, empty or 0, 0 % in the lake"
    assert drift_of(report).facts["title of new rows"] == expected


def test_after_a_repair_the_lake_equals_that_of_an_undisturbed_source(lake, tmp_path):
    calm = Lake(tmp_path / "calm")
    item, two, three = (OBSERVED + timedelta(days=number) for number in range(3))
    grown = [*source(NEWS), *(NEWS.make(2000 + number, DAYS[-1]) for number in range(5))]
    attempt(lake, NEWS, source(NEWS), at=item)
    attempt(calm, NEWS, source(NEWS), at=item)
    for drifted in (changed(grown, title=None), [], changed(grown, created="soon", latest="soon")):
        assert is_refused(attempt(lake, NEWS, drifted, at=two))
    for each in (lake, calm):
        assert attempt(each, NEWS, grown, at=three).outcome.total.published == 5
    assert seen(lake, "news") == seen(calm, "news")
    assert seen(lake, "gaps/news") == seen(calm, "gaps/news")
    assert len(lake.polls("news")) == len(calm.polls("news"))


def test_drift_is_allowed_for_a_single_run_with_a_reason_recorded_in_the_history(lake):
    attempt(lake, NEWS, source(NEWS))
    drifted, reason = changed(source(NEWS), title=None), "the vendor dropped titles, ticket 12"
    let_pass = Lake(lake.root, allow_drift=reason)
    report = attempt(let_pass, NEWS, drifted, at=OBSERVED + timedelta(days=1))
    assert report.outcome.total.published == 100
    assert (drift_of(report).severity, drift_of(report).facts["let pass"]) == ("warning", reason)
    assert [entry.reason for entry in lake.versions()] == [reason, "", ""]
    assert attempt(lake, NEWS, drifted, at=OBSERVED + timedelta(days=2)).outcome.total.unchanged == 100


def test_a_retracted_run_is_no_baseline_for_later_runs(lake):
    attempt(lake, NEWS, source(NEWS), run_id="good")
    fewer, day = source(NEWS)[:50], timedelta(days=1)
    let_pass = Lake(lake.root, allow_drift="half of it was sold")
    assert not isinstance(attempt(let_pass, NEWS, fewer, at=OBSERVED + day, run_id="bad").outcome, CheckFailed)
    assert not isinstance(attempt(lake, NEWS, fewer, at=OBSERVED + 2 * day, run_id="same").outcome, CheckFailed)
    for run_id in ("bad", "same"):
        lake.retract(run_id, "it was not sold")
    again = attempt(lake, NEWS, fewer, at=OBSERVED + 3 * day, run_id="again")
    assert is_refused(again)
    assert drift_of(again).facts["records of closed windows"].startswith("50 of the 100 records")


@pytest.mark.parametrize("factor", [1000, 0.001])
def test_prices_in_another_unit_are_refused(lake, factor):
    attempt(lake, BARS, source(BARS))
    prices = ("open", "high", "low", "close", "vwap")
    scaled = [record | {name: record[name] * factor for name in prices} for record in source(BARS)]
    report = attempt(lake, BARS, scaled, at=OBSERVED + timedelta(days=1))
    assert is_refused(report)
    assert drift_of(report).facts["close of revised rows"].startswith("the magnitude of 100 values is typically")


def test_records_lost_from_a_closed_window_are_refused_and_from_a_recent_window_warn(lake):
    soon, late = (DAYS[-1] + timedelta(days=number) for number in (1, 30))
    at_noon = {day: OBSERVED.replace(year=2024, month=day.month, day=day.day, hour=12) for day in (soon, late)}
    attempt(lake, NEWS, source(NEWS), at=at_noon[soon])
    fewer = source(NEWS)[:50]
    recent = attempt(lake, NEWS, fewer, at=at_noon[soon] + timedelta(hours=1), run_id="s")
    assert not isinstance(recent.outcome, CheckFailed)
    assert drift_of(recent).facts["records of recent windows"].startswith("50 of the 100 records")
    gone = attempt(lake, NEWS, [], at=at_noon[late], run_id="t")
    assert is_refused(gone)
    assert drift_of(gone).facts["records of closed windows"].startswith("0 of the 50 records")


@pytest.mark.parametrize(("left", "sizes"), [(50, [1.0]), (70, [windows.WARNS]), (95, []), (0, [1.0])])
def test_losing_half_of_a_companys_records_is_refused_and_losing_fewer_warns(left, sizes):
    before, now = ({"AAPL": windows.Count(number, number, "r")} for number in (100, left))
    assert [finding.of_limit for finding in windows.findings(before, now, OBSERVED)] == sizes


@pytest.mark.parametrize(
    ("change", "subject"),
    [
        (lambda record: {"title": record["title"].upper()}, "title of new rows, characters"),
        (lambda record: {"title": f"<b>{record['title']}</b>"}, "title of new rows, characters"),
        (lambda _: {"body": "Enable JavaScript"}, "body, repeated"),
        (lambda _: dict.fromkeys(("created", "updated", "latest"), "2024-05-08T12:00:00-04:00"), "created, repeated"),
    ],
    ids=["upper case", "markup", "a page for browsers", "a frozen clock"],
)
def test_new_records_that_are_written_differently_or_repeat_a_value_are_refused(lake, change, subject):
    varied = [record | {"body": f"Text {number}."} for number, record in enumerate(source(NEWS, 60))]
    attempt(lake, NEWS, varied)
    new = [NEWS.make(1000 + number, date(2024, 5, 8)) | {"body": f"Text {number}."} for number in range(30)]
    new = [record | change(record) for record in new]
    report = attempt(lake, NEWS, new, days=[date(2024, 5, 8)], at=OBSERVED + timedelta(days=1))
    assert is_refused(report)
    assert subject in drift_of(report).facts


@pytest.mark.parametrize(("count", "how"), [(100, "refused by drift"), (30, "warned by drift"), (10, "")])
def test_bars_whose_prices_move_by_different_factors_count_as_revised(lake, count, how):
    bars = source(BARS)
    attempt(lake, BARS, bars)
    changed_bars = [record | {"open": record["high"]} for record in bars[:count]]
    report = attempt(lake, BARS, [*changed_bars, *bars[count:]], at=OBSERVED + timedelta(days=1))
    assert noticed(report) == how


def test_a_feed_without_any_record_is_refused_although_no_earlier_poll_was_complete(lake):
    [kind] = [kind for kind in FEED_KINDS if kind.name == "benzinga_news"]
    kind = replace(kind, scope=replace(kind.scope, max_pages=1))
    articles = [kind.make(20 * number, random.Random(0)) for number in range(120)]
    kind.run(lake, articles, OBSERVED)
    assert is_refused(kind.run(lake, [], OBSERVED + timedelta(days=1)))


def test_a_feed_without_any_record_is_published_if_all_records_of_the_lake_were_read_later(lake):
    [kind] = [kind for kind in FEED_KINDS if kind.name == "benzinga_news"]
    kind.run(lake, [kind.make(20 * number, random.Random(0)) for number in range(120)], OBSERVED)
    assert not is_refused(kind.run(lake, [], OBSERVED - timedelta(days=1)))


def test_a_feed_whose_ids_are_all_new_is_refused(lake):
    [kind] = [kind for kind in FEED_KINDS if kind.name == "benzinga_news"]
    records = [kind.make(number, random.Random(number)) for number in range(120)]
    kind.run(lake, records, OBSERVED)
    report = kind.run(lake, [record | {"id": record["id"] + 10**7} for record in records], OBSERVED + timedelta(days=1))
    assert noticed(report) == "refused by drift"
    assert "replaced" in drift_of(report).facts


@pytest.mark.parametrize(("shared", "how"), [(50, "refused by drift"), (15, "warned by drift"), (9, "")])
def test_articles_that_share_ids_are_refused_if_many_and_warned_about_if_some(lake, shared, how):
    [kind] = [kind for kind in FEED_KINDS if kind.name == "benzinga_news"]
    articles = [kind.make(number, random.Random(number)) for number in range(80)]
    kind.run(lake, articles, OBSERVED)
    others = [article | {"id": article["id"] + 12} for article in articles[:shared]]
    assert noticed(kind.run(lake, [*articles, *others], OBSERVED + timedelta(days=1))) == how


@pytest.mark.parametrize(("companies", "how"), [(3, "refused by drift"), (2, "warned by drift")])
def test_bars_replaced_by_other_days_are_refused_for_three_companies_and_warn_for_two(lake, companies, how):
    [kind] = [kind for kind in FEED_KINDS if kind.name == "av_daily_bars"]
    numbers = [number for number in range(240) if number % 12 < companies]
    for day, later in enumerate((0, 1200)):
        bars = [kind.make(number + later, random.Random(number)) for number in numbers]
        report = kind.run(lake, bars, OBSERVED + timedelta(days=day))
    assert noticed(report) == how
    assert "replaced" in drift_of(report).facts


@pytest.mark.parametrize(
    ("kind", "records"),
    [
        (NEWS, changed(source(NEWS)[:5], title=None)),
        (NEWS, [*changed(source(NEWS)[:15], title="corrected"), *source(NEWS)[15:]]),
        (BARS, [r | {n: r[n] / 20 for n in ("open", "high", "low", "close", "vwap")} for r in source(BARS)]),
    ],
    ids=["a few rows", "edits", "a split restates every bar"],
)  # fmt: skip
def test_ordinary_changes_pass_the_drift_check(lake, kind, records):
    attempt(lake, kind, source(kind))
    present = {record[field] for record in records for field in ("id", "entity_id") if field in record}
    rest = [r for r in source(kind) if not present & {r.get("id"), r.get("entity_id")}]
    report = attempt(lake, kind, [*records, *rest], at=OBSERVED + timedelta(days=1))
    assert not isinstance(report.outcome, CheckFailed), str(report.outcome)
    assert report.outcome.total.published == sum(record not in source(kind) for record in records)


def test_a_republish_does_not_make_a_stale_dataset_fresh(lake):
    limited = replace(TOY, dataset=replace(NOTES, freshness=timedelta(days=3)))
    toy = ToyGraph()
    for message, at, run_id in (("1", OBSERVED, "r"), ("2", OBSERVED + timedelta(days=1), "s")):
        toy.write("a", "2024-03-10T12:00:00-04:00", message)
        day = [date(2024, 3, 10)]
        report = attempt_partitions(limited, day, toy, lake, run_id=run_id, observed_at=at)
        (freshness,) = [check for check in report.checks if check.name == "freshness"]
        assert (freshness.passed, freshness.facts["newest record"]) == (False, "2024-03-10T16:00:00Z")


def test_the_freshness_check_states_that_a_lake_has_a_simulated_clock(lake):
    lake.end_at(OBSERVED)
    report = attempt(lake, NEWS, source(NEWS), at=OBSERVED + timedelta(days=100))
    (freshness,) = [check for check in report.checks if check.name == "freshness"]
    assert freshness.facts["clock"] == "simulated: this lake's data end at 2026-01-01T00:00:00Z"


@pytest.mark.parametrize("kind", FEED_KINDS[1:], ids=lambda kind: kind.name)
def test_a_larger_source_has_more_companies_rather_than_more_records_of_each(kind):
    records = [kind.make(number, random.Random(number)) for number in range(5000)]
    assert max(Counter(record[HIDDEN] for record in records).values()) <= 150


@pytest.mark.long
def test_drifts_are_noticed_and_ordinary_days_pass(tmp_path):
    assert [drift(seed, tmp_path, 200) for seed in range(0, 60, 11)]
    assert [ordinary(seed, tmp_path, 200) for seed in range(0, 60, 11)] == [""] * 6


def test_new_values_with_the_other_sign_are_named(lake):
    facts = next(kind for kind in KINDS if kind.name == "xbrl_facts")

    def alike(number, value):
        names = {"concept": "us-gaap:C0", "filers": [["0000000001", "T1"]], "node": f"n{number}", "value": f"{value}"}
        return facts.make(number, DAYS[0]) | names | {"accession_no": f"0000000001-24-{number:06}"}

    attempt(lake, facts, [alike(number, 100 + number) for number in range(60)])
    report = attempt(lake, facts, [alike(100 + n, -100 - n) for n in range(30)], at=OBSERVED + timedelta(days=1))
    (finding,) = (text for name, text in drift_of(report).facts.items() if name.endswith("sign"))
    assert finding == "100 % of 30 values are negative, 0 % in the lake"
