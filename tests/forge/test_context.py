"""Requests that fit the model's window: shortened conversations, short excerpts, and a budget for earlier turns."""

import asyncio
import json

import pytest

from forge.agent.agent import Agent
from forge.agent.conversation import SHORTENED
from forge.agent.session import MOST_PRIOR
from forge.agent.tools.text import MOST_LINE, excerpt, section
from forge.core.tape import Tape
from forge.model import Answer, Call, ModelFailed
from forge.model.call import is_too_long
from forge.model.messages import Results
from forge.model.scripted import Scripted
from forge.providers.base import FetchResult

T = "2014-05-29T12:29:59Z"
CLOCK = "context", T
LONG = "x" * 30_000
ROWS = tuple({"available_at": T, "available_at_source": "record", "value": n, "text": "y" * 900} for n in range(40))


def narrow(limit):
    """Return a script that refuses requests above a limit, writes and reads long files, and then answers."""

    def answer(request):
        size = len(json.dumps(request.canonical()["messages"]))
        if size > limit:
            return Answer("the request is longer than the model takes", (), "too_long", "narrow-1", 0, 0)
        turns = sum(isinstance(message, Results) for message in request.messages)
        if turns < 3:
            call = Call("read", {"path": f"/session/long-{turns}.md"}, f"id{turns}")
            write = Call("write", {"path": f"/session/long-{turns + 1}.md", "content": f"{turns}{LONG}"}, f"w{turns}")
            return Answer("", (write, call), "tools", "narrow-1", 10, 10)
        return Answer(f"seen {size < limit}", (), "stop", "narrow-1", 10, 10)

    return answer


def agent(memory, tmp_path, answers):
    model = Scripted(answers)
    return model, Agent(memory, Tape(tmp_path / "tape.sqlite"), lambda role: model, tmp_path / "none")


def test_a_request_that_is_too_long_is_shortened_and_sent_again(memory, tmp_path):
    model, narrow_agent = agent(memory, tmp_path, narrow(130_000))
    decided = asyncio.run(narrow_agent.ask("Read it all.", T))
    assert (decided.answer, decided.end) == ("seen True", "answered")
    assert any(SHORTENED in str(message) for message in model.asked[-1].messages)
    assert asyncio.run(narrow_agent.replay(decided.decision)) == decided


def test_a_request_that_cannot_be_shortened_ends_the_turn_with_a_reason(memory, tmp_path):
    _, narrow_agent = agent(memory, tmp_path, narrow(10))
    decided = asyncio.run(narrow_agent.ask("Read it all.", T))
    assert decided.end == "too_long"
    assert "longer than the model takes" in decided.answer
    assert "again" not in decided.answer.split("KNOWN")[0]


@pytest.mark.parametrize(
    ("reason", "too_long"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", True),
        ("This model's maximum context length is 128000 tokens", True),
        ("code: context_length_exceeded", True),
        ("overloaded", False),
        ("max_tokens: must be at least 1", False),
    ],
)
def test_provider_errors_for_too_long_requests_are_recognized(reason, too_long):
    assert is_too_long(reason) is too_long


def test_a_fetched_file_is_excerpted_at_header_and_summary_depth_but_whole_in_full():
    fetched = FetchResult(source="economic", label="economic latest", rows=ROWS, gaps=(), receipts=())
    full = fetched.format_full()
    assert len(full) > 30_000
    assert len(json.loads(full)["data"]) == 40
    for depth in ("header", "summary"):
        display = excerpt(full, depth)
        assert len(display) < 8 * MOST_LINE + 200
        assert "economic latest" in display
        assert "more lines — depth='full' to read" in display
    assert excerpt(full, "full") == full


@pytest.mark.parametrize(
    "heading", ["## SUMMARY", "### Summary:", "**SUMMARY**", "**Summary:**", "SUMMARY:", "## **SUMMARY**", "Summary:"]
)
def test_a_section_is_found_under_any_usual_heading(heading):
    after = heading.replace("SUMMARY", "NEXT ACTIONS").replace("Summary", "Next Actions")
    text = f"Before.\n\n{heading}\n\nGrowth slows.\nOrders: fell.\n\n{after}\n\nWait."
    assert section(text, "SUMMARY") == "Growth slows.\nOrders: fell."
    assert section(text, "NEXT ACTIONS") == "Wait."


def test_a_section_may_begin_on_its_headings_line():
    assert section("SUMMARY: growth slows.\nMore.\n\nVIEW UPDATES: none", "SUMMARY") == "growth slows.\nMore."
    assert section("**SUMMARY:** growth slows.", "SUMMARY") == "growth slows."


def test_the_next_turn_sees_the_sessions_messages_up_to_a_budget(memory, tmp_path):
    answers = iter([f"first {'a' * 5_000} end of first", f"second {'b' * MOST_PRIOR} end of second", "third"])
    model, chatting = agent(memory, tmp_path, lambda request: Answer(next(answers), (), "stop", "scripted-1", 1, 1))
    for question in ("one?", "two?", "three?"):
        asyncio.run(chatting.ask(question, T))
    first, second = model.asked[1].system, model.asked[2].system
    assert "end of first" in first
    assert "two?" in second
    assert "one?" in second
    assert len(second) - len(model.asked[0].system) < MOST_PRIOR + 1_000


def test_earlier_turns_are_included_newest_first_within_the_budget(memory, tmp_path):
    model, chatting = agent(memory, tmp_path, lambda request: Answer("a" * 7_000, (), "stop", "scripted-1", 1, 1))
    for number in range(5):
        asyncio.run(chatting.ask(f"question {number}?", T))
    system = model.asked[-1].system
    assert len(system) - len(model.asked[0].system) < MOST_PRIOR + 1_000
    assert ["a" * 7_000 in system, "question 3?" in system, system.count("a" * 6_000)] == [True, True, 2]


def test_a_failing_model_still_raises_model_failed(memory, tmp_path):
    def failing(request):
        raise ModelFailed("scripted-1 is unreachable")

    _, broken = agent(memory, tmp_path, failing)
    with pytest.raises(ModelFailed):
        asyncio.run(broken.ask("one?", T))
