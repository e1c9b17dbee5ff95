"""A lake's contents at an instant, and what became public between two instants, in every interface."""

import json

import pytest

import pitlake
from pitlake import cli
from pitlake.answers.contents import changes, holdings
from pitlake.clock import instant
from pitlake.datasets import all_datasets
from tests.doors.conftest import AS_OF
from tests.doors.mcp_client import ask
from tests.every import every

EARLIER = "2024-02-20T22:00:00Z"


@pytest.fixture(scope="module")
def session(lake):
    with pitlake.connect(AS_OF, lake=lake) as handle:
        yield handle


def counted(session, where="true"):
    names = [name for name in session.datasets if session.sql(f"FROM {name}_revisions LIMIT 1").rows()]
    return {name: session.sql(f"SELECT count(*) FROM {name}_revisions WHERE {where}").rows()[0][0] for name in names}


def test_holdings_match_sql_counts_and_list_empty_datasets_last(session):
    content = {each.dataset: each for each in holdings(session)}
    counts = counted(session)
    assert set(content) == set(session.datasets)
    assert list(content)[: len(counts)] == sorted(counts)
    assert {name: each.rows for name, each in content.items() if each.rows} == counts
    ((first, newest),) = session.sql("SELECT min(available_at), max(available_at) FROM news_revisions").rows()
    assert (content["news"].first, content["news"].newest, content["news"].gaps) == (first, newest, 1)
    assert (content["splits"].rows, content["splits"].first) == (0, None)


def test_changes_are_the_rows_a_later_session_has_beyond_an_earlier_session(lake, session):
    with pitlake.connect(EARLIER, lake=lake) as earlier:
        before = counted(earlier)
    result = {change.dataset: change for change in changes(session, instant(EARLIER))}
    more = {name: rows - before.get(name, 0) for name, rows in counted(session).items() if rows > before.get(name, 0)}
    assert {name: each.new + each.revised for name, each in result.items()} == more
    assert every(instant(EARLIER) < each.first <= each.newest <= instant(AS_OF) for each in result.values())


def test_changes_of_a_company_count_only_its_rows(session):
    result = {change.dataset: change.new for change in changes(session, instant(EARLIER), "QZP")}
    whole = {change.dataset: change.new for change in changes(session, instant(EARLIER))}
    assert result == {name: whole[name] / 2 for name in ("embeddings", "news", "prices")}


def test_a_later_row_of_an_existing_key_counts_as_revised(tmp_path):
    from tests.cli.conftest import AFTER, BEFORE, BETWEEN, CREATED, article
    from tests.kit import publish

    lake = pitlake.Lake(tmp_path / "lake")
    publish(lake, "news", [article(1, "Draft", CREATED)], "first", observed_at=CREATED)
    publish(lake, "news", [article(1, "Final", CREATED, instant(AFTER)), article(2, "Other", instant(AFTER))], "second")
    with pitlake.connect(AFTER, lake=lake, datasets=["news"]) as session:
        for since, reply in ((BEFORE, (2, 1)), (BETWEEN, (1, 1))):
            (change,) = changes(session, instant(since))
            assert (change.new, change.revised) == reply


def test_describe_shows_agents_the_lakes_holdings(lake):
    listing = ask(lake, "describe")["datasets"]
    assert {each["name"] for each in listing} == set(all_datasets())
    rows = [bool(each["holds"] and each["holds"]["rows"]) for each in listing]
    assert rows == sorted(rows, reverse=True)
    (news,) = ask(lake, "describe", name="news")["datasets"]
    assert news["holds"] == next(each for each in listing if each["name"] == "news")["holds"]
    assert news["holds"]["newest"] <= AS_OF
    (hidden,) = ask(lake, "describe", name="event_returns")["datasets"]
    assert hidden["holds"] is None


def test_the_command_line_shows_holdings_and_changes(lake, capfdbinary):
    def told(*line):
        assert cli.invoke((*line, "--lake", str(lake), "--format", "json")) == 0
        return json.loads(capfdbinary.readouterr().out)

    listing = {each["name"]: each["holds"] for each in told("datasets", "--as-of", AS_OF)}
    assert told("describe", "news", "--as-of", AS_OF)["holds"] == listing["news"]
    assert listing["news"]["rows"] == 120
    assert {each["dataset"] for each in told("diff", "--from", EARLIER, "--to", AS_OF)} == {
        "embeddings", "news", "prices"
    }  # fmt: skip


FUTURE = "2999-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (("query", "SELECT 1", "--as-of", FUTURE), "--as-of: is in the future"),
        (("datasets", "--as-of", FUTURE), "--as-of: is in the future"),
        (("mcp", "--as-of", FUTURE), "--as-of: is in the future"),
        (("diff", "--from", AS_OF, "--to", FUTURE), "--to: is in the future"),
        (("diff", "--from", AS_OF, "--to", AS_OF), "--from: is not before --to"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_future_or_unordered_instants_are_refused(lake, capfdbinary, line, complaint):
    assert cli.invoke((*line, "--lake", str(lake))) == 2
    assert complaint in capfdbinary.readouterr().err.decode()
