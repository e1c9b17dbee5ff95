"""A lake's fixed settings: the instant from which its filings count, which every receipt states, and the end of its
world.
"""

from datetime import date, timedelta

import neo4j
import pytest

from assets.graph import all_extractors
from pipelines.alerts import stale_datasets
from pitlake import clock
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from pitlake.report import site
from pitlake.session import connect
from resources.lake import FILINGS_VARIABLE, LakeResource
from tests.assets.test_filings import report
from tests.cli.conftest import CREATED, article, publish
from tests.partitions import run_partitions

EVENING, MORNING = "2024-05-24T18:00:00-04:00", "2024-05-28T07:30:00-04:00"


class Reports:
    """A graph of one filing, accepted on the evening before a long weekend."""

    def stream(self, _cypher, params, *, fetch_size):
        if "lo" in params and params["lo"] <= EVENING < params["hi"]:
            yield [neo4j.Record(report(created=EVENING, entities=None, exhibits=None))]


def extracted(lake, *days):
    return run_partitions(all_extractors()["reports"], [*map(date.fromisoformat, days)], Reports(), lake, run_id="r")


def seen(lake, as_of):
    with connect(as_of, lake=lake, datasets=["reports"]) as session:
        answer = session.sql("SELECT release_rule FROM reports")
        return answer.rows(), answer.receipt.question.filings_count_from


def test_a_filing_of_the_evening_is_found_on_its_day_of_release_and_is_not_there_before(tmp_path):
    lake = Lake(tmp_path / "lake")
    assert extracted(lake, "2024-05-24", "2024-05-25", "2024-05-27").total.extracted == 0
    assert extracted(lake, "2024-05-28").total.published == 1
    assert seen(lake, "2024-05-28T07:29:59-04:00") == ([], "release")
    assert seen(lake, MORNING) == ([("form_and_clock",)], "release")
    with pytest.raises(BadInput, match="count from their release on"):
        lake.count_filings_from("acceptance")
    assert lake.filings_count_from == "release"


def test_a_lake_set_to_the_literal_rule_takes_the_acceptance_and_its_receipts_say_so(tmp_path, monkeypatch):
    monkeypatch.setenv(FILINGS_VARIABLE, "acceptance")
    lake = LakeResource(root=str(tmp_path / "lake")).open()
    assert extracted(lake, "2024-05-24").total.published == 1
    assert seen(lake, EVENING) == ([("acceptance",)], "acceptance")
    with pytest.raises(BadInput):
        lake.count_filings_from("release")
    assert LakeResource(root=str(tmp_path / "lake"), filings_count_from="acceptance").open().filings_count_from


def test_a_rule_that_is_none_is_refused(tmp_path):
    with pytest.raises(BadInput, match="give release or acceptance"):
        Lake(tmp_path / "lake").count_filings_from("filing date")


@pytest.mark.parametrize(("after", "fresh"), [(None, False), (timedelta(days=2), True), (timedelta(days=4), False)])
def test_freshness_is_judged_no_later_than_the_end_of_the_lake_s_world(tmp_path, after, fresh):
    lake = Lake(tmp_path / "lake")
    if after is not None:
        lake.end_at(CREATED + after)
    (check,) = (one for one in publish(lake, "run", [article(1, "Title", CREATED)]).checks if one.name == "freshness")
    assert check.passed is fresh
    assert ("news" not in dict(stale_datasets(lake, clock.now()))) is fresh
    (news,) = (one for one in site.read(lake).shown if one.dataset.name == "news")
    assert news.freshness.passed is fresh


def test_the_end_of_a_world_is_agreed_once(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.end_at(CREATED)
    lake.end_at(CREATED)
    with pytest.raises(BadInput, match="the world of this lake ends at 2024-02-14T21:30:00Z"):
        lake.end_at(CREATED + timedelta(days=1))
