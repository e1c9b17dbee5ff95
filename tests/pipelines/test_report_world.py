"""Every number in the sample lake's report matches the result of SQL in a session on the same version."""

from datetime import timedelta

import pytest

from pitlake import clock
from pitlake.datasets import get
from pitlake.report import site
from pitlake.session import connect
from tests.pipelines.conftest import TOLD_ON

pytestmark = [pytest.mark.timeout(1200), pytest.mark.parametrize("story", TOLD_ON[:1], indirect=True)]
DAY = "(available_at AT TIME ZONE 'America/New_York')::DATE::VARCHAR"


@pytest.fixture(scope="session")
def ask(story):
    with connect(None, lake=story.lake, open_mode=True) as session:
        yield lambda query: session.sql(query).rows()


def test_every_number_of_the_report_equals_that_of_sql(story, ask):
    at = clock.instant(story.third_began, "at") + timedelta(days=1)
    compared = 0
    for name, facts in site.numbers(site.read(story.lake, at=at))["datasets"].items():
        rows, keys = f"{name}_revisions", ", ".join(get(name).key)
        assert facts["rows"] == ask(f"SELECT count(*) FROM {rows}")[0][0], name
        counted = f"SELECT count(*) AS n FROM {rows} GROUP BY {keys}"
        assert (facts["keys"], facts["revised_keys"]) == ask(
            f"SELECT count(*), count(*) FILTER (n > 1) FROM ({counted})"
        )[0]
        by_day = ask(f"SELECT {DAY}, count(*) FROM {rows} GROUP BY 1 ORDER BY 1")
        assert [(day, what["rows"]) for day, what in facts["days"].items() if what["rows"]] == by_day
        by_type = f"SELECT gap_type, count(*) FROM gaps WHERE dataset = '{name}' GROUP BY 1 ORDER BY 1"
        assert sorted(facts["gaps"].items()) == ask(by_type), name
        tags = ask(f"SELECT available_at_source, count(*) FROM {rows} GROUP BY 1 ORDER BY 2 DESC, 1")
        assert list(facts["sources"].items()) == tags
        newest = ask(f"SELECT max(available_at) FROM {rows}")[0][0]
        assert facts["newest"] == (newest and clock.iso(newest))
        compared += facts["rows"]
    assert compared > 90_000
