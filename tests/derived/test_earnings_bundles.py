"""Earnings snapshots and outcomes match a slow reference, stay the same, cite receipts, and are public on time."""

import shutil
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone

import dagster as dg
import pytest

from assets.derived import earnings_bundles, earnings_events, earnings_outcomes
from assets.derived.bundle_assets import bundle_assets
from assets.derived.earnings_bundles import ANCHORS, Event, as_of
from pipelines.earnings import new_earnings
from pipelines.partitions import EARNINGS
from pitlake import clock
from pitlake.answers import receipts
from pitlake.cli import invoke
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.questions import catalogue
from pitlake.session import connect
from resources.lake import LakeResource
from tests.derived.slow_bundle import SECOND, across, both, quick, same, slow
from tests.doors.conftest import build, publish
from tests.every import every

MAY = datetime(2024, 5, 14, 22, tzinfo=timezone.utc)


def fill(root) -> Lake:
    lake = build(root)
    reported = {"ticker": "QBG", "period_type": "quarter", "reported_eps": 1.5, "estimated_eps": 1.25, "surprise": 0.25}
    for number, at in enumerate((datetime(2024, 2, 16, 5, tzinfo=timezone.utc), MAY + timedelta(hours=6))):
        row = reported | {"fiscal_date_ending": date(2023, 12, 31) + timedelta(days=91 * number), "available_at": at}
        publish(lake, "av_earnings", [row | {"reported_date": at.date(), "evidence": f"av:{number}"}], f"av-{number}")
    observed = {"series_id": "GDP", "observation_date": date(2024, 1, 1), "vintage_date": date(2024, 4, 25)}
    reply = {"value": 28284.5, "value_text": "28284.5", "withdrawn": False, "evidence": "alfred:GDP"}
    at = datetime(2024, 4, 25, 12, 30, tzinfo=timezone.utc)
    publish(lake, "macro_observations", [observed | reply | {"available_at": at}], "gdp")
    earnings_events.derive(lake, run_id="events")
    return lake


@pytest.fixture(scope="module")
def earnings_lake(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("bundles") / "lake")


@pytest.fixture
def lake(earnings_lake, tmp_path):
    return Lake(shutil.copytree(earnings_lake.location, tmp_path / "lake"))


def cited_by_receipts(lake):
    return {f"receipt:{receipt.result_sha256}" for receipt in receipts.survey(lake.location)[0].values()}


def publish_late_article(lake):
    """Publish an article from before the release in May after the snapshot of that release was built."""
    late = {"id": "bzNews_late", "ticker": "QBG", "tickers": ["QBG"], "title": "Late", "channels": []}
    at = MAY - timedelta(days=1)
    publish(lake, "news", [late | {"created": at, "available_at": at, "evidence": "neo4j:News:late"}], "late")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("anchor", [*ANCHORS, "-1440", "+600"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_snapshot_equals_that_of_the_slow_oracle(earnings_lake, anchor, number):
    event = earnings_bundles.events(earnings_lake)[number]
    with connect(as_of(event.event_at, anchor), lake=earnings_lake) as session:
        ours, theirs = quick(session, event.ticker), slow(session, event.ticker)
    assert same(ours, theirs)
    assert {section for section, _ in ours} >= {"prices", "returns", "news"}


def test_crossing_an_acceptance_by_a_second_changes_only_its_filing(earnings_lake):
    event = earnings_bundles.events(earnings_lake)[1]
    before, after = (both(earnings_lake, event, event.event_at - back) for back in (SECOND, timedelta(0)))
    for side in zip(before, after, strict=True):
        assert across(event, *side) == ({("filings", event.accession_no)}, set())


def test_any_other_change_across_an_acceptance_is_reported(earnings_lake):
    event = earnings_bundles.events(earnings_lake)[1]
    before, after = (both(earnings_lake, event, event.event_at - back)[0] for back in (SECOND, timedelta(0)))
    other = next(key for key in before)
    changed, amiss = across(event, before, after | {other: (1.5, *after[other][1:])})
    assert (len(changed), amiss) == (2, {other})


def test_snapshot_rows_are_public_at_their_instant_and_cite_a_replayable_receipt(lake):
    report = earnings_bundles.build(lake, earnings_bundles.events(lake), run_id="build")
    assert report.outcome.changed
    with connect(MAY, lake=lake) as session:
        rows = session.sql("FROM earnings_snapshots").arrow().to_pylist()
    assert {row["anchor"] for row in rows if row["event_at"] == MAY} == {"before_release", "at_release"}
    assert every(row["known_at"] <= row["as_of"] <= row["available_at"] <= MAY for row in rows)
    assert not {row["name"] for row in rows if "QBG" in row["name"]}  # names are known then, so no ticker is used
    assert {row["evidence"] for row in rows} <= cited_by_receipts(lake)
    answer = receipts.replay(receipts.find(rows[0]["evidence"].removeprefix("receipt:"), lake.location), lake)
    assert f"receipt:{answer.receipt.result_sha256}" == rows[0]["evidence"]


def test_data_from_after_the_release_changes_no_snapshot(lake, tmp_path):
    other = Lake(shutil.copytree(lake.location, tmp_path / "other"))
    for day in range(3):
        later = {"id": f"bzNews_{day}", "ticker": "QBG", "tickers": ["QBG"], "title": "Later", "channels": []}
        at = MAY + timedelta(days=30 + day)
        publish(
            other, "news", [later | {"created": at, "available_at": at, "evidence": f"neo4j:{day}"}], f"later-{day}"
        )
    result = []
    for item in (lake, other):
        earnings_bundles.build(item, earnings_bundles.events(item), run_id="build", anchors=["at_release"])
        with connect(MAY, lake=item) as session:
            result.append(session.sql("FROM earnings_snapshots_revisions ORDER BY ALL").receipt)
    assert result[0].rows > 0
    assert result[0].result_sha256 == result[1].result_sha256


def test_no_row_or_gap_reveals_a_release_before_it_happens(lake):
    anchors = ["before_release", "-43200"]
    earnings_bundles.build(lake, earnings_bundles.events(lake), run_id="build", anchors=anchors)
    with connect(lake=lake, open_mode=True) as session:
        rows = session.sql("FROM earnings_snapshots").arrow().to_pylist()
        gaps = session.sql("SELECT locator, available_at FROM gaps WHERE dataset = 'earnings_snapshots'").rows()
    assert {row["available_at"] - row["event_at"] for row in rows} == {timedelta(0)}
    released = {f"earnings:{event.accession_no}": event.event_at for event in earnings_bundles.events(lake)}
    assert gaps
    assert every(at >= released[locator.partition("/")[0]] for locator, at in gaps)


def test_a_release_known_only_from_edgar_is_in_its_own_snapshot(lake):
    filing = {"cik": "0000000001", "accession_no": "0000000009-24-000009", "form_type": "8-K"}
    reply = {"items": ["2.02", "9.01"], "acceptance_raw": "2024-04-02T20:05:00.000Z"}
    at = datetime(2024, 4, 2, 20, 5, tzinfo=timezone.utc)
    more = {"accepted_at": at, "acceptance_rule": "offset", "available_at": at, "evidence": "edgar:9"}
    publish(lake, "sec_filings", [filing | reply | more], "edgar")
    borne = {"cik": "0000000001", "kind": "ticker", "name": "QBG", "all_names": ["QBG"], "source": "dei"}
    publish(lake, "names", [borne | {"statement": "x", "available_at": at, "evidence": "xbrl"}], "names")
    with connect(at, lake=lake) as session:
        ours, theirs = quick(session, "QBG"), slow(session, "QBG")
    assert ours["filings", "0000000009-24-000009"] == (None, "8-K: 2.02, 9.01", ("edgar:9",), at)
    assert same(ours, theirs)


def test_a_rebuild_changes_nothing_and_adds_no_receipt(lake):
    expected = earnings_bundles.events(lake)
    earnings_bundles.build(lake, expected, run_id="first")
    remaining = set(receipts.survey(lake.location)[0])
    again = earnings_bundles.build(lake, expected, run_id="second")
    assert (again.outcome.changed, again.outcome.total.published) == (False, 0)
    assert set(receipts.survey(lake.location)[0]) == remaining
    assert every(check.passed for check in again.checks)


def test_a_late_article_revises_a_snapshot_and_fails_the_frozen_check(lake):
    expected = earnings_bundles.events(lake)
    earnings_bundles.build(lake, expected, run_id="first", anchors=["at_release"])
    publish_late_article(lake)
    began = clock.now()
    report = earnings_bundles.build(lake, expected, run_id="second", anchors=["at_release"])
    assert [(check.name, check.facts) for check in report.checks if not check.passed] == [("frozen", {"changed": 1})]
    question = "SELECT value, available_at FROM earnings_snapshots_revisions WHERE section = 'news' AND event_at = $at"
    with connect(lake=lake, open_mode=True) as session:
        rows = sorted(session.sql(question, {"at": MAY}).rows(), key=lambda row: row[1])
    assert [value for value, _ in rows] == [15.0, 16.0]
    assert rows[0][1] == MAY
    assert rows[1][1] > began
    with connect(MAY, lake=lake) as session:
        assert session.sql(
            "SELECT value FROM earnings_snapshots WHERE section = 'news' AND event_at = $at", {"at": MAY}
        ).rows() == [(15.0,)]


def test_a_row_added_to_a_snapshot_later_is_public_only_when_seen(lake):
    expected = earnings_bundles.events(lake)
    earnings_bundles.build(lake, expected, run_id="first", anchors=["at_release"])
    with connect(MAY, lake=lake) as session:
        before = session.sql("FROM earnings_snapshots").rows()
    late = {"accession_no": "0000000003-24-000001", "form_type": "8-K", "cik": "0000000001", "ticker": "QBG"}
    at = MAY - timedelta(days=1)
    filed = {"role": "primary_filer", "tickers": ["QBG"], "created": at, "available_at": at, "evidence": "neo4j:late"}
    publish(lake, "reports", [late | filed], "late")
    report = earnings_bundles.build(lake, expected, run_id="second", anchors=["at_release"])
    assert [(check.name, check.facts) for check in report.checks if not check.passed] == [("frozen", {"changed": 1})]
    with connect(MAY, lake=lake) as session:
        assert session.sql("FROM earnings_snapshots").rows() == before
    with connect(lake=lake, open_mode=True) as session:
        added = session.sql("SELECT available_at > as_of FROM earnings_snapshots WHERE name = $name", {
            "name": late["accession_no"]
        }).rows()  # fmt: skip
    assert added == [(True,)]
    third = earnings_bundles.build(lake, expected, run_id="third", anchors=["at_release"])
    assert (third.outcome.changed, every(check.passed for check in third.checks)) == (False, True)


def test_a_row_that_a_rebuild_no_longer_finds_is_withdrawn(lake, monkeypatch):
    expected = earnings_bundles.events(lake)[1:]
    earnings_bundles.build(lake, expected, run_id="first", anchors=["at_release"])
    whole = catalogue.get(earnings_bundles.QUERY)
    fewer = replace(whole, sql=whole.sql.replace("UNION ALL BY NAME FROM macro", ""))
    monkeypatch.setattr(catalogue, "get", lambda _: fewer)
    report = earnings_bundles.build(lake, expected, run_id="second", anchors=["at_release"])
    again = earnings_bundles.build(lake, expected, run_id="third", anchors=["at_release"])
    with connect(lake=lake, open_mode=True) as session:
        gone = session.sql("SELECT section, value, text FROM earnings_snapshots WHERE withdrawn").rows()
    assert gone == [("macro", None, None)]
    assert report.outcome.revisions == 1
    assert not again.outcome.changed


def test_concurrent_builds_of_a_release_store_only_the_cited_receipt(lake, monkeypatch):
    expected, first = earnings_bundles.events(lake)[1:], earnings_bundles.concluded
    anchors = ["at_release"]

    def concluded(*inputs):
        monkeypatch.setattr(earnings_bundles, "concluded", first)
        earnings_bundles.build(lake, expected, run_id="other", anchors=anchors)
        return first(*inputs)

    monkeypatch.setattr(earnings_bundles, "concluded", concluded)
    earnings_bundles.build(lake, expected, run_id="one", anchors=anchors)
    with connect(lake=lake, open_mode=True) as session:
        cited = {evidence for (evidence,) in session.sql("SELECT DISTINCT evidence FROM earnings_snapshots").rows()}
    assert cited_by_receipts(lake) == cited


def test_an_unchanged_release_gets_no_new_receipt_when_another_release_changes(lake):
    expected = earnings_bundles.events(lake)
    earnings_bundles.build(lake, expected, run_id="first", anchors=["at_release"])
    publish_late_article(lake)
    earnings_bundles.build(lake, expected, run_id="second", anchors=["at_release"])
    with connect(lake=lake, open_mode=True) as session:
        question = "SELECT DISTINCT evidence FROM earnings_snapshots_revisions"
        cited = {evidence for (evidence,) in session.sql(question).rows()}
    assert cited_by_receipts(lake) == cited


def test_an_anchor_in_the_future_is_a_gap(lake):
    event = earnings_bundles.events(lake)[1]
    early = MAY + timedelta(seconds=1)
    soon = replace(event, released_at=clock.now() - timedelta(seconds=1))
    report = earnings_bundles.build(lake, [soon], run_id="build", anchors=["at_release", "+600"])
    assert early > MAY
    assert report.outcome.gaps["pit_excluded"] == 1


def test_an_outcome_is_visible_once_its_last_bar_is(lake):
    earnings_outcomes.build(lake, earnings_bundles.events(lake), run_id="outcomes")
    with connect(MAY + timedelta(days=2, hours=1), lake=lake) as session:
        rows = session.sql(
            "SELECT sessions, change FROM earnings_outcomes WHERE event_at = $at ORDER BY ALL", {"at": MAY}
        ).rows()
    base = 10.0 + (date(2024, 5, 14) - date(2024, 1, 2)).days
    assert rows == [(n, pytest.approx(100 * n / base)) for n in (1, 2)]


def test_a_bar_corrected_later_moves_no_window_and_changes_no_outcome(lake):
    expected = earnings_bundles.events(lake)
    earnings_outcomes.build(lake, expected, run_id="first")
    day = date(2024, 5, 14)
    bar = {"entity_kind": "company", "entity_id": "0000000001", "symbol": "QBG", "date": day, "volume": 1000.0}
    reply = dict.fromkeys(("open", "high", "low", "close", "vwap"), 999.0)
    at = datetime(2024, 5, 14, 21, tzinfo=timezone.utc)
    publish(lake, "prices", [bar | reply | {"available_at": at, "evidence": "neo4j:HAS_PRICE:corrected"}], "corrected")
    assert not earnings_outcomes.build(lake, expected, run_id="second").outcome.changed


def bar(day, close, available_at=None):
    at = available_at or datetime(day.year, day.month, day.day, 21, tzinfo=timezone.utc)
    return {"date": day, "open": close, "close": close, "volume": 1000.0, "available_at": at, "evidence": f"bar:{day}"}


def outcomes(event_at, bars, splits=()):
    event = Event(clock.instant(event_at), "QBG", "0000000002-24-000001")
    series = earnings_outcomes.Series({each["date"]: each for each in bars}, list(splits))
    market = earnings_outcomes.Series({}, [])
    result = [
        earnings_outcomes.outcome(event, window, series, market) for window in earnings_outcomes.windows(event.event_at)
    ]
    return [each for each in result if isinstance(each, dict)]


@pytest.mark.parametrize(
    ("event_at", "base", "first", "second"),
    [
        ("2024-05-14T20:30:00Z", "2024-05-14", "2024-05-15", "2024-05-16"),
        ("2024-05-14T20:00:00Z", "2024-05-14", "2024-05-15", "2024-05-16"),
        ("2024-05-14T18:00:00Z", "2024-05-13", "2024-05-14", "2024-05-15"),
        ("2024-05-14T12:00:00Z", "2024-05-13", "2024-05-14", "2024-05-15"),
        ("2024-03-08T22:00:00Z", "2024-03-08", "2024-03-11", "2024-03-12"),
        ("2024-07-03T17:30:00Z", "2024-07-03", "2024-07-05", "2024-07-08"),
        ("2024-03-28T23:30:00Z", "2024-03-28", "2024-04-01", "2024-04-02"),
    ],
)
def test_outcome_windows_follow_the_sessions_of_the_exchange(event_at, base, first, second):
    result = list(earnings_outcomes.windows(clock.instant(event_at)))
    assert [each.sessions for each in result] == list(earnings_outcomes.WINDOWS)
    assert [str(day) for day in (result[0].base, result[0].end, result[1].end)] == [base, first, second]


def test_a_window_with_missing_bars_is_not_filled_from_other_days():
    days = [date(2024, 5, day) for day in (13, 14, 17, 20)]
    rows = outcomes("2024-05-14T20:30:00Z", [bar(day, 100.0) for day in days])
    assert [(row["sessions"], row["end_date"]) for row in rows] == []
    rows = outcomes("2024-05-14T20:30:00Z", [bar(day, 100.0) for day in (*days, date(2024, 5, 16))])
    assert [(row["sessions"], row["end_date"]) for row in rows] == [(2, date(2024, 5, 16))]
    assert outcomes("2024-05-15T20:30:00Z", [bar(day, 100.0) for day in days]) == []


def test_an_outcome_is_not_public_before_its_window_ends():
    early = datetime(2024, 5, 15, 14, tzinfo=timezone.utc)
    rows = outcomes("2024-05-14T20:30:00Z", [bar(date(2024, 5, 14), 1.0), bar(date(2024, 5, 15), 1.1, early)])
    assert [row["available_at"] for row in rows] == [datetime(2024, 5, 15, 20, tzinfo=timezone.utc)]


def test_missing_bars_are_a_gap_only_a_week_after_the_window_ends(tmp_path):
    lake, event = Lake(tmp_path / "lake"), Event(MAY, "QBG", "0000000002-24-000001")
    lake.start()
    report = earnings_outcomes.build(lake, [event], run_id="early", observed_at=MAY + timedelta(days=8))
    assert (report.outcome.gaps, report.outcome.total.extracted) == ({"no_data": 1}, 1)
    report = earnings_outcomes.build(lake, [event], run_id="late", observed_at=MAY + timedelta(days=60))
    assert report.outcome.gaps == {"no_data": 5}


def test_an_evening_release_has_its_snapshot_and_outcome_when_edgar_releases_it(tmp_path):
    lake = Lake(tmp_path / "lake")
    accepted, released = clock.instant("2024-10-11T18:00:00-04:00"), clock.instant("2024-10-15T07:30:00-04:00")
    filing = {"cik": "0000000001", "accession_no": "0000000009-24-000009", "form_type": "8-K", "ticker": "QBG"}
    reply = {"tickers": ["QBG"], "items": ["Item 2.02: Results"], "created": accepted, "release_rule": "form_and_clock"}
    publish(lake, "reports", [filing | reply | {"available_at": released, "evidence": "neo4j:Report:9"}], "late")
    earnings_events.derive(lake, run_id="events")
    (event,) = earnings_bundles.events(lake)
    assert (event.event_at, event.released_at, event.release_rule) == (accepted, released, "form_and_clock")
    earnings_bundles.build(lake, [event], run_id="build", anchors=["before_release", "at_release", "-60"])
    with connect(lake=lake, open_mode=True) as session:
        rows = session.sql("FROM earnings_snapshots WHERE section = 'filings'").arrow().to_pylist()
    assert [(row["anchor"], row["as_of"], row["available_at"]) for row in rows] == [("at_release", released, released)]
    holiday = bar(date(2024, 10, 14), 11.0)  # the exchange is open, but EDGAR is closed
    by_day = {each["date"]: each for each in (bar(date(2024, 10, 11), 10.0), holiday)}
    series, market = earnings_outcomes.Series(by_day, []), earnings_outcomes.Series({}, [])
    window = next(earnings_outcomes.windows(event.event_at))
    assert earnings_outcomes.outcome(event, window, series, market)["available_at"] == released


@pytest.mark.parametrize(
    ("event_at", "opens"),
    [
        ("2024-05-14T20:30:00Z", "2024-05-15T13:30:00Z"),
        ("2024-05-14T12:00:00Z", "2024-05-14T13:30:00Z"),
        ("2024-05-14T13:30:00Z", "2024-05-15T13:30:00Z"),
        ("2024-03-08T22:00:00Z", "2024-03-11T13:30:00Z"),
        ("2024-07-03T18:00:00Z", "2024-07-05T13:30:00Z"),
    ],
)
def test_the_next_open_anchor_is_the_next_opening_of_the_exchange(event_at, opens):
    assert as_of(clock.instant(event_at), "next_open") == clock.instant(opens)


@pytest.mark.parametrize("anchor", ["", "tomorrow", "60", "+1e3", "-123456"])
def test_an_unknown_anchor_is_refused(anchor):
    with pytest.raises(BadInput, match="anchor"):
        as_of(MAY, anchor)


def test_all_releases_are_built_by_a_single_dagster_run(lake, tmp_path):
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        with dg.build_sensor_context(
            instance=instance, resources={"lake": LakeResource(root=lake.location)}
        ) as context:
            question = new_earnings(context).run_requests
        assert len(question) == 1
        result = dg.materialize(
            bundle_assets(EARNINGS),
            instance=instance,
            resources={"lake": LakeResource(root=lake.location)},
            tags=question[0].tags,
        )
        done = instance.get_materialized_partitions(dg.AssetKey("earnings_snapshots"))
    assert result.success
    assert done == {event.key for event in earnings_bundles.events(lake)}


def test_the_backfill_command_builds_only_the_requested_snapshots(lake, capfd, monkeypatch):
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    question = ["backfill", "earnings", "--lake", lake.location, "--tickers", "qbg", "--from", "2024-05-01"]
    assert invoke([*question, "--anchors", "at_release"]) == 0
    assert capfd.readouterr().out.split("\n")[1:] != []
    with connect(lake=lake, open_mode=True) as session:
        built = session.sql("SELECT DISTINCT event_at, anchor FROM earnings_snapshots").rows()
    assert built == [(MAY, "at_release")]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--tickers", "NONE"], "--tickers: the lake has no releases of NONE"),
        (["--from", "soon"], "--from: 'soon' is not a date"),
        (["--from", "2024-05-02", "--to", "2024-05-01"], "--from: is after --to"),
        (["--to", "2020-01-01"], "there are no releases between them"),
        (["--anchors", "tomorrow"], "--anchors: 'tomorrow' is unknown"),
        (["--anchors", " , "], "--anchors: names nothing"),
        (["--tickers", ""], "--tickers: names nothing"),
        (["--tickers", ","], "--tickers: names nothing"),
        (["--from", ""], "--from: '' is not a date"),
        (["--to", ""], "--to: '' is not a date"),
    ],
)
def test_the_backfill_command_names_its_bad_input(earnings_lake, capfd, options, complaint):
    assert invoke(["backfill", "earnings", "--lake", earnings_lake.location, *options]) == 2
    assert complaint in capfd.readouterr().err


def test_the_asset_depends_on_the_datasets_that_its_query_reads():
    spec = next(iter(bundle_assets(EARNINGS)[0].specs))
    assert {dep.asset_key.to_user_string() for dep in spec.deps} == {
        "earnings_events",
        *catalogue.get("earnings_snapshot").reads,
    }
