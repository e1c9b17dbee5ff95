"""Training cut-offs of models: the published dates, the verdict in every receipt, and the refusals of `clean`."""

import csv
import json
import re
from datetime import date, datetime, timezone
from importlib.resources import files
from urllib.parse import urlparse

import pytest

import pitlake
from pitlake.cli import invoke
from pitlake.cli.sessions import parse_viewpoint
from pitlake.errors import BadInput
from pitlake.gate.rules import check_answer
from pitlake.mcp.query_service import QueryService
from pitlake.mcp.server import server
from pitlake.mcp.tools import Toolbox
from pitlake.models import STATEMENTS, published
from pitlake.session.api import named_model
from tests.doors.conftest import small
from tests.kit import publish

LLAMA, LATER, SQL = "meta-llama/Llama-3.1-8B-Instruct", "2024-05-01T00:00:00Z", "SELECT count(*) AS n FROM news"
ROWS = list(csv.DictReader(files("pitlake").joinpath(STATEMENTS).read_text(encoding="utf-8").splitlines()))


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    return small(tmp_path_factory.mktemp("models") / "lake")


def test_each_training_statement_has_a_date_and_a_page_of_the_models_maker():
    hosts = {"github.com", "huggingface.co", "ai.azure.com", "platform.claude.com"}
    for row in ROWS:
        assert re.compile(row["family"])
        assert date.fromisoformat(row["trained_to"] or row["released"])
        assert bool(row["covers"]) == bool(row["trained_to"])
        page = urlparse(row["source"])
        assert (page.scheme, page.hostname in hosts) == ("https", True)
    assert sum(bool(row["trained_to"]) for row in ROWS) >= 12


@pytest.mark.parametrize(
    ("name", "day"),
    [
        (LLAMA, "2023-12-31"),
        ("openai:meta-llama/Meta-Llama-3-8B@http://127.0.0.1:8080/v1", "2023-03-31"),
        ("llama-2-7b-chat-hf", "2023-07-31"),
        ("anthropic:claude-opus-4-8", "2026-05-28"),
        ("anthropic/claude-haiku-4-5-20251001", "2025-10-15"),
        ("claude-sonnet-5-20260630", "2026-06-30"),
        ("claude-sonnet-5-20260901", None),  # a later model
        ("nvidia/Llama-3.1-Nemotron-70B-Instruct", None),
        ("someone/llama-3.1-8b-instruct", None),
        ("llama3.1:8b", None),
        ("claude-of-others", None),
    ],
)
def test_a_model_is_found_only_by_its_makers_names(name, day):
    assert (published(name).trained_to or None) == (day and date.fromisoformat(day))


def test_a_knowledge_cut_off_is_not_the_end_of_training_so_the_release_date_counts():
    opus = published("claude-opus-5")
    assert (opus.trained_to, opus.is_stated) == (date(2026, 7, 24), False)
    verdict, reason = opus.judge(datetime(2026, 7, 1, tzinfo=timezone.utc))
    assert verdict == "exposed"
    assert "may have been trained after 2026-07-01: its maker states only its release, 2026-07-24 (https://" in reason


@pytest.mark.parametrize(
    ("as_of", "verdict"),
    [("2023-06-01T00:00:00Z", "exposed"), ("2024-01-01T04:59:59Z", "exposed"), ("2024-01-01T05:00:00Z", "clean")],
)
def test_a_receipt_states_the_verdict_on_the_model_that_asked(lake, as_of, verdict):
    with pitlake.connect(as_of, lake=lake, model=LLAMA) as session:
        question = session.sql(SQL).receipt.question
    assert (question.model, question.exposure) == (LLAMA, verdict)


def test_without_a_model_a_receipt_has_no_verdict(lake):
    with pitlake.connect(LATER, lake=lake) as session:
        question = session.sql(SQL).receipt.question
    assert (question.model, question.exposure) == (None, None)


def test_require_clean_refuses_a_model_that_is_exposed_or_unknown(lake):
    early = "2023-06-01T00:00:00Z"
    with pytest.raises(
        BadInput, match=r"was trained after 2023-06-01: its maker states that its pretraining data ends"
    ):
        pitlake.connect(early, lake=lake, model=LLAMA, require="clean")
    with pitlake.connect(LATER, lake=lake, model=LLAMA, require="clean") as session:
        session.advance("2024-05-02T00:00:00Z")
        assert session.sql(SQL).receipt.question.exposure == "clean"
    for options in ({"model": None}, {"model": LLAMA, "open_mode": True}, {"model": "unheard-of"}):
        given_as_of = None if options.get("open_mode") else LATER
        with pytest.raises(BadInput):
            pitlake.connect(given_as_of, lake=lake, require="clean", **options)
    with pytest.raises(BadInput, match=r"require: 'partial'"):
        pitlake.connect(LATER, lake=lake, model=LLAMA, require="partial")


def test_the_command_line_states_the_verdict_and_refuses_an_exposed_model(lake, capfd):
    question = ["query", SQL, "--lake", lake.location, "--for-model", LLAMA, "--isolation", "in_process"]
    assert invoke([*question, "--as-of", LATER]) == 0
    assert f"clean: {LLAMA} was not trained after 2024-05-01" in capfd.readouterr().err
    assert invoke([*question, "--as-of", "2023-06-01T00:00:00Z", "--require", "clean"]) == 2
    refused = capfd.readouterr().err
    assert f"--as-of: {LLAMA} was trained after 2023-06-01" in refused
    assert "ask as of a day after 2023-12-31" in refused
    assert invoke(["query", SQL, "--lake", lake.location, "--as-of", LATER, "--require", "clean"]) == 2
    agent = ["agents", "run", "--lake", lake.location, "--for-model", "claude-opus-5", "--require", "clean"]
    assert invoke([*agent, "--as-of", LATER, "--", "false"]) == 2
    assert "claude-opus-5 may have been trained after 2024-05-01" in capfd.readouterr().err


def test_an_mcp_answer_has_the_verdict_and_an_earlier_pit_is_refused(lake):
    def tool(**options):
        return Toolbox(QueryService(viewpoint=parse_viewpoint(LATER, lake=lake.location, **options)))

    answer = tool(for_model=LLAMA, require="clean").query(SQL).structured_content
    assert (answer["receipt"]["exposure"], check_answer(answer, LATER)) == ("clean", None)
    assert tool().query(SQL).structured_content["receipt"]["exposure"] is None
    early = {"pit": "2023-06-01T00:00:00Z"}
    assert tool(for_model=LLAMA).query(SQL, **early).structured_content["receipt"]["exposure"] == "exposed"
    reply = server(QueryService(viewpoint=parse_viewpoint(LATER, lake=lake.location, for_model=LLAMA))).instructions
    assert f"The model that asks is clean: {LLAMA} was not trained after 2024-05-01" in reply
    refused = tool(for_model=LLAMA, require="clean").query(SQL, **early)
    assert refused.is_error
    assert "was trained after 2023-06-01" in refused.content[0].text


def test_the_lakes_model_registry_takes_precedence_over_published_dates(tmp_path):
    own = small(tmp_path / "lake")
    row = {"source": "https://x.example/card", "available_at": datetime(2024, 3, 1, tzinfo=timezone.utc)}
    publish(own, "model_registry", [row | {"model": "my-model", "knowledge_cutoff": date(2024, 2, 29)},
                                    row | {"model": "claude-opus-5", "knowledge_cutoff": date(2026, 5, 1)},
                                    row | {"model": "claude-haiku-4-5"}])  # fmt: skip
    days = [str(named_model(name, own).trained_to) for name in ("my-model", "openai:Claude-Opus-5", "claude-haiku-4-5")]
    assert days == ["2024-02-29", "2026-05-01", "2025-10-15"]
    assert "`model_registry` states 2024-02-29 (https://x.example/card)" in json.dumps(
        named_model("my-model", own).reason
    )
