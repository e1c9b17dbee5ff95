"""The quality report: every number matches SQL over the same version, and the pages work without a network."""

import json
import re
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from html.parser import HTMLParser

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.runs import attempt_partitions
from checks.expectations import expected
from pitlake import clock
from pitlake.contract import LEAST_REFUSED, Column
from pitlake.errors import BadInput, LakeError, VersionVacuumed
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.check_results import CheckReport
from pitlake.lake.storage.incidents import Incident
from pitlake.lake.storage.manifest import DataFile, Snapshot, TableState
from pitlake.report import site
from pitlake.report.measures import DRIFT, measure
from tests.toys import NOTES, OBSERVED, TOY, ToyGraph, between, stored

SAID = Column(name="said", type="string", meaning="What was said.", values=("yes", "no"))
LINKED = replace(NOTES, columns=(NOTES.columns[0], SAID), freshness=timedelta(days=1000))
EXTRACTOR = replace(TOY, dataset=LINKED)
STRICT = replace(EXTRACTOR, dataset=replace(LINKED, columns=(NOTES.columns[0], replace(SAID, strict=True))))
NEW_YORK_DAY = "(available_at AT TIME ZONE 'America/New_York')::DATE"
DAYS = between("2024-03-01", "2024-04-20")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake of forty notes, three of them revised a day later, two gaps, and a forbidden value that is an address."""
    toy, lake = ToyGraph(), Lake(tmp_path_factory.mktemp("report") / "lake")

    def run(name, observed_at, extractor=EXTRACTOR):
        return attempt_partitions(extractor, DAYS, toy, lake, run_id=name, observed_at=observed_at, audits=(expected,))

    for number in range(40):
        day = date(2024, 3, 1) + timedelta(days=number % 11)
        toy.write(f"n{number:02}", f"{day}T{number % 24:02}:30:00-05:00", "yes")
    toy.write("odd", "2024-03-05T12:00:00-05:00", "https://example.org/<b>")
    toy.write("lost", "2024-03-06 noon")
    toy.write("undated", None)
    run("first", OBSERVED - timedelta(days=1))
    for number in range(3):
        toy.write(f"n{number:02}", f"{date(2024, 3, 1 + number)}T{number:02}:30:00-05:00", "no")
    run("second", OBSERVED)
    return lake


@pytest.fixture(scope="module")
def report(lake, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    report = site.read(lake, contracts={"notes": LINKED}, at=OBSERVED)
    site.write(report, folder)
    return report, folder


@pytest.fixture(scope="module")
def figures(report):
    return json.loads((report[1] / site.NUMBERS).read_text())["datasets"]["notes"]


@pytest.fixture(scope="module")
def sql(lake):
    """A function that runs SQL in plain DuckDB over the version's rows and gaps, which plain Arrow read."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "TimeZone": "UTC"})
    for name, table in (("notes", "notes"), ("gaps", "gaps/notes")):
        connection.register(name, pa.Table.from_pylist(stored(lake, table)))
    return lambda query: connection.sql(query).fetchall()


def test_reported_counts_equal_those_of_sql(figures, sql):
    assert [(figures["rows"], figures["keys"])] == sql("SELECT count(*), count(DISTINCT id) FROM notes") == [(44, 41)]
    twice = "SELECT id FROM notes GROUP BY id HAVING count(*) > 1"
    assert [(figures["revised_keys"], figures["revisions"])] == sql(f"SELECT count(*), 3 FROM ({twice})") == [(3, 3)]
    assert sorted(figures["gaps"].items()) == sql("SELECT gap_type, count(*) FROM gaps GROUP BY 1 ORDER BY 1")


def test_reported_days_equal_those_of_sql(figures, sql):
    rows = sql(f"SELECT {NEW_YORK_DAY}::VARCHAR, count(*) FROM notes GROUP BY 1 ORDER BY 1")
    assert [(day, what["rows"]) for day, what in figures["days"].items() if what["rows"]] == rows
    later = sql(f"SELECT {NEW_YORK_DAY}::VARCHAR, count(*) FROM notes a WHERE EXISTS (FROM notes b "
                "WHERE a.id = b.id AND b.available_at < a.available_at) GROUP BY 1")  # fmt: skip
    assert [(day, what["revisions"]) for day, what in figures["days"].items() if what["revisions"]] == later
    dated = sql("SELECT partition, count(*) FROM gaps WHERE partition <> 'undated' GROUP BY 1")
    assert [(day, sum(what["gaps"].values())) for day, what in figures["days"].items() if what["gaps"]] == dated


def test_reported_clocks_equal_those_of_sql(figures, report, sql):
    assert list(figures["sources"].items()) == sql("SELECT available_at_source, count(*) FROM notes GROUP BY 1")
    lag = "SELECT epoch(observed_at - available_at) AS lag FROM notes"
    assert figures["lags"]["under a minute"] == sql(f"SELECT count(*) FROM ({lag}) WHERE lag < 60")[0][0] == 3
    assert figures["lags"]["under 3 years"] == sql(f"SELECT count(*) FROM ({lag}) WHERE lag > 31536000")[0][0] == 41
    assert sum(figures["lags"].values()) == figures["rows"]
    (quantiles,) = sql(f"SELECT quantile_cont(lag, [0.05, 0.5, 0.95]) FROM ({lag})")[0]
    assert report[0].measures[0].lag_quantiles == pytest.approx(quantiles)
    assert figures["newest"] == clock.iso(sql("SELECT max(available_at) FROM notes")[0][0])


def test_reported_changes_are_the_difference_between_two_versions(figures, report, lake):
    assert (report[0].base.version, report[0].version.version) == (1, 2)
    rows = [len(stored(lake, version=version)) for version in (1, 2)]
    assert (
        figures["since"]
        == {"rows": rows[1] - rows[0], "revisions": 3, "gaps": 0}
        == {"rows": 3, "revisions": 3, "gaps": 0}
    )
    whole = site.numbers(site.read(lake, since=0, contracts={"notes": LINKED}))["datasets"]["notes"]["since"]
    assert whole == {"rows": 44, "revisions": 3, "gaps": 2}


def test_an_earlier_version_is_reported_as_it_was(lake):
    earlier = site.read(lake, version=1, contracts={"notes": LINKED}, at=OBSERVED)
    assert (earlier.measures[0].counts.rows, earlier.base.version) == (41, 0)


def test_a_report_of_an_earlier_version_shows_nothing_of_later_versions(tmp_path):
    toy, lake = ToyGraph(), Lake(tmp_path / "lake")

    def run(name, extractor=EXTRACTOR):
        attempt_partitions(extractor, DAYS, toy, lake, run_id=name, observed_at=clock.now(), audits=(expected,))
        happened = {"happened_at": clock.now(), "job": "work", "kind": "failed", "reasons": ()}
        lake.keep_incident(Incident(run_id=name, **happened))

    def checks_of(version):
        report = site.read(lake, version=version, contracts={"notes": LINKED})
        judged = [each.run_id for measures in report.shown for each in measures.check_reports]
        return judged, [incident.run_id for incident in report.incidents], [each.name for each in report.silent]

    lake.start()
    toy.write("good", "2024-03-05T12:00:00-05:00", "yes")
    run("first")
    for number in range(LEAST_REFUSED + 1):
        toy.write(f"odd{number}", "2024-03-06T12:00:00-05:00", "https://odd.example")
    run("refused", STRICT)
    assert checks_of(None) == (["refused", "first"], ["refused", "first"], [])
    run("second")
    assert checks_of(2) == checks_of(None) == (["second", "refused", "first"],) * 2 + ([],)
    assert checks_of(1) == (["refused", "first"], ["refused", "first"], [])
    assert checks_of(0) == ([], [], ["notes"])
    earlier = site.read(lake, version=1, contracts={"notes": LINKED})
    site.write(earlier, tmp_path / "site")
    assert earlier.measures[0].check_reports[0].run_id == "refused"
    assert "second" not in (tmp_path / "site" / "notes.html").read_text()


def test_a_vacuumed_base_version_is_skipped_by_default_and_refused_if_requested(tmp_path):
    toy, lake = ToyGraph(), Lake(tmp_path / "lake")
    for number in range(3):
        toy.write(f"n{number}", f"2024-03-0{number + 1}T12:00:00-05:00", "yes")
        attempt_partitions(EXTRACTOR, DAYS, toy, lake, run_id=f"run-{number}", observed_at=OBSERVED)
    lake.compact(LINKED, "2024-04")
    report = site.read(lake, contracts={"notes": LINKED})
    assert (report.version.version, report.base.version) == (4, 3)
    lake.vacuum(timedelta(0), grace=timedelta(0), dry_run=False)
    alone = site.read(lake, contracts={"notes": LINKED})
    assert (alone.base.version, list(alone.commits)) == (4, [])
    assert alone.measures[0].counts == alone.measures[0].before
    with pytest.raises(VersionVacuumed):
        site.read(lake, since=3, contracts={"notes": LINKED})


def test_an_older_base_version_that_survived_the_vacuum_is_used_instead(tmp_path):
    toy, lake = ToyGraph(), Lake(tmp_path / "lake")
    for number in range(3):
        toy.write(f"n{number}", f"2024-03-0{number + 1}T12:00:00-05:00", "yes")
        attempt_partitions(EXTRACTOR, DAYS, toy, lake, run_id=f"run-{number}", observed_at=OBSERVED)
    lake.compact(LINKED, "2024-04")
    lake.vacuum(timedelta(0), [2], grace=timedelta(0), dry_run=False)
    assert site.read(lake, contracts={"notes": LINKED}).base.version == 2


def test_a_base_newer_than_the_version_is_refused(lake):
    with pytest.raises(BadInput, match="newer"):
        site.read(lake, version=1, since=2, contracts={"notes": LINKED})


class Page(HTMLParser):
    """The references of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.refers, self.words = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        assert tag != "script"
        self.refers += [value for name, value in attributes if name in ("href", "src")]

    def handle_data(self, data):
        self.words += data


def test_pages_link_only_to_local_files_and_evidence(report):
    for path in report[1].glob("*.html"):
        for target in Page(path.read_text()).refers:
            outside = target.startswith("https://example.org/")
            assert outside or target == "data:," or (report[1] / target.split("#")[0]).is_file()
    assert not re.search(r"url\(|@import|https?:", (report[1] / site.STYLE).read_text())


def test_a_failing_check_shows_its_rows_and_links_to_their_evidence(report, figures):
    assert figures["failing"] == ["expectation_warnings"]
    text = (report[1] / "notes.html").read_text()
    page = Page(text)
    assert "toy:odd" in page.words
    assert "https://example.org/<b>" in page.refers
    assert "<b>" not in text.replace("<b>", "", text.count("</b>"))
    assert "expectation warnings" in Page((report[1] / site.INDEX).read_text()).words


def test_freshness_is_measured_by_the_newest_record_and_not_by_a_revision(lake):
    newest = datetime(2024, 3, 12, 2, 30, tzinfo=timezone.utc)
    limit = newest + LINKED.freshness
    result = [site.read(lake, contracts={"notes": LINKED}, at=limit + late).measures[0].freshness
             for late in (timedelta(0), timedelta(seconds=1))]  # fmt: skip
    assert [check.passed for check in result] == [True, False]
    assert {check.facts["newest record"] for check in result} == {clock.iso(newest)}


def test_columns_show_their_null_rate_and_the_gaps_have_a_page(report, figures):
    assert figures["columns"] == {"said": {"nulls": 0.0, "nulls_before": 0.0, "added": False}}
    words = Page((report[1] / site.GAPS).read_text()).words
    assert "undated" in words


def test_a_refused_run_is_shown_with_locators_but_no_content(tmp_path):
    toy, lake = ToyGraph(), Lake(tmp_path / "lake")
    for number in range(LEAST_REFUSED + 1):
        toy.write(f"bad{number}", "2024-03-05T12:00:00-05:00", "canary")
    attempt_partitions(STRICT, DAYS, toy, lake, run_id="r", observed_at=OBSERVED, audits=(expected,))
    report = site.read(lake, contracts={"notes": STRICT.dataset}, at=OBSERVED)
    site.write(report, tmp_path / "site")
    text = (tmp_path / "site" / "notes.html").read_text()
    assert [check.name for check in report.measures[0].failing] == ["row_rules", "refused_share"]
    assert "refused, nothing was published" in text
    assert "toy:bad" in text
    assert "canary" not in text


def test_incidents_are_shown_newest_first_and_stored_once(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.start()
    reasons = ("prices: GraphUnavailable", "news: <b>")
    older = Incident(happened_at=OBSERVED, run_id="older", job="graph_days", kind="failed", reasons=reasons)
    newer = replace(older, happened_at=OBSERVED + timedelta(seconds=1), run_id="newer", kind="unanswered")
    for item in (older, newer, older):
        lake.keep_incident(item)
    site.write(site.read(lake, contracts={"notes": LINKED}), tmp_path / "site")
    document = json.loads((tmp_path / "site" / site.NUMBERS).read_text())["incidents"]
    assert [(each["run"], each["kind"], each["reasons"]) for each in document] == [
        ("newer", "unanswered", list(reasons)),
        ("older", "failed", list(reasons)),
    ]
    words = Page((tmp_path / "site" / site.INDEX).read_text()).words
    assert words.index("newer") < words.index("older")
    assert "news: <b>" in words


def test_an_incident_round_trips_through_json_and_damaged_json_is_refused():
    remaining = Incident(happened_at=OBSERVED, run_id="r", job="work", kind="failed", reasons=("a", "b"))
    assert Incident.from_json(remaining.to_json()) == remaining
    with pytest.raises(LakeError, match="damaged"):
        Incident.from_json(b'{"run_id": "r"}')


def test_the_newest_drift_of_each_field_is_shown_where_it_was_measured(lake, tmp_path):
    facts = [("notes", "said", 1, 3), ("notes", "said", 2, 7), ("notes", "*", 1, 1), ("other", "said", 2, 9)]
    rows = [{"source": "toy", "dataset": name, "field": field, "measured_at": OBSERVED + timedelta(days=day),
             "compared": 10, "changed": changed, "share": changed / 10, "low": 0.0, "high": 1.0,
             "available_at": OBSERVED}
            for name, field, day, changed in facts]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "drift.parquet")
    file = DataFile(str(tmp_path / "drift.parquet"), 4, 1, OBSERVED, OBSERVED)
    snapshot = lake.snapshot()
    with_drift = Snapshot(2, {**snapshot.tables, DRIFT: TableState((file,))})
    result = measure(lake, LINKED, with_drift, snapshot, OBSERVED).drift
    assert [(each.field, each.changed, each.share) for each in result] == [("said", 7, 0.7), ("*", 1, 0.1)]
    assert list(measure(lake, LINKED, snapshot, snapshot, OBSERVED).drift) == []


def test_an_empty_lake_has_a_report_that_names_what_is_missing(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.start()
    report = site.read(lake, contracts={"notes": LINKED})
    site.write(report, tmp_path / "site")
    assert [dataset.name for dataset in report.silent] == ["notes"]
    assert [path.name for path in sorted((tmp_path / "site").iterdir())] == [
        site.GAPS, site.INDEX, site.STYLE, site.NUMBERS
    ]  # fmt: skip


def test_a_check_report_round_trips_through_json_and_damaged_json_is_refused():
    remaining = CheckReport(
        dataset="notes", run_id="r", checked_at=datetime(2024, 1, 1, tzinfo=timezone.utc), version=None
    )
    assert CheckReport.from_json(remaining.to_json()) == remaining
    with pytest.raises(LakeError, match="damaged"):
        CheckReport.from_json(b'{"dataset": "notes"}')
