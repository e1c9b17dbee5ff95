"""The bench of the platform measures what it says: a backfill that ended well, and lakes that are equal."""

import time

import pytest

from bench import platform, webserver
from bench.platform import Place, Spent, Work, compare
from pitlake.lake.lake import Lake
from tests.loopback import Answer, Loopback
from tests.partitions import run_partitions
from tests.toys import OBSERVED, TOY, between


def graphql_answer(**data):
    return Answer({"data": data})


def state(status, *runs):
    return graphql_answer(partitionBackfillOrError={"status": status, "runs": list(runs)})


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(webserver, "POLL_SECONDS", 0.01)
    running = Loopback()
    yield running
    running.close()


def test_a_backfill_is_waited_for_and_timed_from_when_it_was_asked_for(server):
    now = time.time()
    run = {"status": "SUCCESS", "creationTime": now + 1000, "startTime": now + 1200, "endTime": now + 3000}
    server.script["/graphql"] = [
        graphql_answer(launchPartitionBackfill={"__typename": "LaunchBackfillSuccess", "backfillId": "one"}),
        state("REQUESTED"),
        state("COMPLETED_SUCCESS", run, run | {"creationTime": now + 1100, "endTime": now + 4000}),
    ]
    done = webserver.backfill(server.url, ["notes"], ["2024-03-01"])
    assert (done.runs, done.published - done.created) == (2, 3000)
    assert done.created == pytest.approx(1000, abs=60)
    assert done.seen < 60


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            [graphql_answer(launchPartitionBackfill={"__typename": "PythonError", "message": "no such asset"})],
            "no such asset",
        ),
        ([Answer({"errors": [{"message": "no such field"}]})], "no such field"),
        (
            [
                graphql_answer(launchPartitionBackfill={"backfillId": "one"}),
                state("COMPLETED_FAILED", {"status": "FAILURE"}),
            ],
            "FAIL",
        ),
        (
            [graphql_answer(launchPartitionBackfill={"backfillId": "one"}), state("COMPLETED_SUCCESS")],
            "COMPLETED_SUCCESS",
        ),
    ],
    ids=["refused", "not understood", "failed", "without a run"],
)
def test_a_backfill_that_did_not_do_its_work_has_no_time(server, answers, said):
    server.script["/graphql"] = answers
    with pytest.raises(RuntimeError, match=said):
        webserver.backfill(server.url, ["notes"], ["2024-03-01"])


def published(root, toy, said):
    toy.write("note", "2024-03-01T12:00:00-05:00", said)
    lake = Lake(root)
    run_partitions(TOY, between("2024-03-01", "2024-03-02"), toy, lake, run_id=root.name, observed_at=OBSERVED)
    return lake


def test_lakes_are_equal_but_for_who_read_them_and_a_changed_row_is_told(toy, tmp_path):
    first, second, other = (
        published(tmp_path / name, toy, said) for name, said in (("a", '"x"'), ("b", '"x"'), ("c", '"y"'))
    )
    compare(first, second, ["notes"])
    with pytest.raises(RuntimeError, match="notes: 1 rows are not the plain script's, 1 of its rows are missing"):
        compare(first, other, ["notes"])


def test_each_way_begins_where_the_others_began(toy, tmp_path):
    place = Place(tmp_path)
    place.begin()
    assert not place.lake.exists()
    published(place.lake, toy, '"x"')
    place.base = place.keep("base").root
    place.begin()
    assert Lake(place.lake).head() == Lake(place.base).head() == 1


def test_figures_are_ratios_of_the_same_round_and_costs_of_each_partition():
    work = Work("ten days of 1 datasets", "day and dataset", "≤ 1.2", ("notes",), tuple("0123456789"), ("dg", "x"), ())
    served = [(webserver.Backfill(1, 20.0, 23.0, 50.0), 2.5), (webserver.Backfill(1, 30.0, 36.0, 60.0), 4.5)]
    figures = list(platform._figures(work, served, [Spent(4.0, 3.0)] * 2, [Spent(2.0, 2.0), Spent(4.0, 4.0)]))
    assert [one["ratio"] for one in figures[:4]] == [1.5, pytest.approx(1.1875), 1.5, 1.125]
    assert [one["aim"] for one in figures[:4]] == ["", "≤ 1.2", "", "≤ 1.2"]
    assert (figures[-2]["value"], figures[-1]["value"]) == (1, pytest.approx(50.0))
