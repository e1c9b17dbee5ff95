"""Parts of a graph that a run cannot read are counted: reversed relations, and nodes that no relation leads to."""

from assets.graph import all_extractors
from assets.runs import attempt_partitions
from assets.survey import survey
from pitlake.errors import CheckFailed
from tests.toys import OBSERVED, between

NEWS = all_extractors()["news"]
DAYS = between("2024-05-01", "2024-05-02")


def fill(admin, articles, reversed_links, label="News"):
    """Write articles that influence two companies; the first `reversed_links` relations point the wrong way."""
    admin.write("UNWIND ['1', '2'] AS c CREATE (:Company {id: c, cik: c, ticker: 'T' + c})")
    rows = [
        {"id": f"bzNews_{number}", "at": f"2024-05-01T12:{number:02}:00-04:00", "c": "12"[number % 2]}
        for number in range(articles)
    ]
    admin.write(
        f"UNWIND $rows AS row CREATE (:{label} {{id: row.id, title: 'Title', created: row.at, updated: row.at}})",
        {"rows": rows},
    )
    for chosen, ends in (
        (rows[:reversed_links], "(c)-[:INFLUENCES]->(n)"),
        (rows[reversed_links:], "(n)-[:INFLUENCES]->(c)"),
    ):
        find = f"MATCH (n:{label} {{id: row.id}}), (c:Company {{id: row.c}})"
        admin.write(f"UNWIND $rows AS row {find} CREATE {ends}", {"rows": chosen})


def attempt(graph, lake):
    return attempt_partitions(NEWS, DAYS, graph, lake, run_id="r", observed_at=OBSERVED)


def unread(report):
    (check,) = [check for check in report.checks if check.name == "unread"]
    return check


def test_a_few_reversed_relations_are_counted_and_the_rest_is_published(graph_admin, graph, lake):
    fill(graph_admin, 40, 3)
    report = attempt(graph, lake)
    assert report.outcome.total.published == 40
    assert (unread(report).severity, unread(report).facts) == (
        "warning",
        {"INFLUENCES relations": "3 of 40 can't be reached"},
    )


def test_a_graph_with_all_relations_reversed_is_refused(graph_admin, graph, lake):
    fill(graph_admin, 40, 40)
    report = attempt(graph, lake)
    assert isinstance(report.outcome, CheckFailed)
    assert unread(report).facts == {"INFLUENCES relations": "40 of 40 can't be reached"}


def test_a_renamed_label_is_refused_even_on_days_not_polled_before(graph_admin, graph, lake):
    fill(graph_admin, 40, 0)
    attempt(graph, lake)
    graph_admin.wipe()
    fill(graph_admin, 40, 0, label="Article")
    graph_admin.write("MATCH (:Article)-[r]->() DELETE r")
    outcome = attempt_partitions(NEWS, between("2024-05-08", "2024-05-09"), graph, lake, run_id="s").outcome
    assert isinstance(outcome, CheckFailed)
    assert "News nodes" in str(outcome)


def test_a_node_that_no_relation_leads_to_is_counted(graph_admin, graph):
    graph_admin.write("CREATE (:Transcript {id: 't'})-[:HAS_FULL_TEXT]->(:FullTranscriptText {id: 'a', content: 'x'})")
    graph_admin.write("CREATE (:FullTranscriptText {id: 'b', content: 'y'})")
    assert survey(all_extractors()["transcripts"], graph).unread == {"FullTranscriptText nodes": 1}
