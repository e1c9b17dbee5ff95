"""The desk's pages: each page is as of an instant, only POST replays a decision, and all text is escaped."""

import asyncio
import json
import re
from dataclasses import replace

import pytest

from forge.agent.agent import Agent
from forge.core.clock import Simulated
from forge.core.config import from_mapping
from forge.core.tape import Step, Tape
from forge.memory import Memory
from forge.model import Answer, Call
from forge.model.scripted import Scripted
from forge.records import Band, Calibration, Cell, Scenario, render
from forge.tracking.scores import wilson
from forge.web import room
from forge.web.decisions import Decision
from pitlake.clock import from_micros, instant, iso
from tests.doors.conftest import small
from tests.forge.world import BOOK, NEW_EXPRESSION, NEW_VIEW, turn, wrote
from tests.web.browsing import BASE, TOKEN, browsing

HOSTILE = "<script>alert(1)</script>"
SCENARIOS = (Scenario(name=HOSTILE, probability=0.6), Scenario(name="other", probability=0.4))
UNLOCKED = {"origin": BASE, "cookie": f"pitlake_token={TOKEN}"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A client, the instants of its memory's writes, and a decision. Its folders come from the environment."""
    home = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FORGE_LAKE", str(home / "forge"))
        patched.setenv("PITLAKE_LAKE", str(home / "lake"))
        own = home / "skills/retrospective"  # the PM's own skill replaces Forge's skill
        own.mkdir(parents=True)
        (own / "SKILL.md").write_text("---\nname: retrospective\ndescription: Look back.\n---\n\nLook back.\n")
        patched.setenv("FORGE_SKILLS", str(own.parent))
        memory = Memory()
        wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
        view = replace(NEW_VIEW, scope=HOSTILE, scenarios=SCENARIOS, body=HOSTILE)
        write = Call("write", {"path": "/memory/views/new.md", "content": render(view)}, "id1")
        first = Answer("", (write,), "tools", "m", 1_200, 30, cached_tokens=1_000)
        model = Scripted([first, Answer("It slows.", (), "stop", "m", 2_600, 5)])
        settings = from_mapping({"context": {"windows": {"scripted:1": 10_000}}})
        tape, models = Tape(f"{memory.lake.root}-tape.sqlite"), {"agent": model}
        agent = Agent(memory, tape, models.__getitem__, home / "none", settings, skills=own.parent)
        decision = asyncio.run(agent.ask(f"What of {HOSTILE}?")).decision
        draft = replace(NEW_EXPRESSION, status="draft", max_loss_pct=None, notional=500.0)
        wrote(turn(memory, "s"), "/memory/expressions/new.md", draft, "expression")
        later = replace(view, id="V-001", confidence=0.25)
        wrote(turn(memory, "s"), "/memory/views/V-001.md", later, "less sure")
        instants = [from_micros(row.written_at) for row in memory.journal.rows() if row.path.startswith("/memory/")]
        memory.close()
        with browsing(small(home / "lake").root, rooms=(room,)) as client:
            yield client, instants, decision


def test_the_desk_shows_memory_as_of_the_requested_instant(desk):
    client, (view, expression, less_sure), _ = desk
    now = client.get("/desk").text
    assert re.findall(r">(V-001|E-001)</a></th>", now) == ["V-001", "E-001"]
    assert '<td class="num" data-l="Confidence">0.25</td>' in now
    then = client.get(f"/desk?as_of={iso(expression)}").text
    assert '<td class="num" data-l="Confidence">0.6</td>' in then
    assert "E-001" in then
    first = client.get(f"/desk?as_of={iso(view)}").text
    assert "V-001" in first
    assert "E-001" not in first
    assert "V-001" not in client.get("/desk?as_of=2014-05-01T00:00:00Z").text
    assert less_sure > expression > view


def test_a_decision_page_shows_tokens_per_request_and_in_total(desk):
    client, _, decision = desk
    page = client.get(f"/desk/d/{decision}").text
    metered = re.findall(r"<span>model</span><span><small class=\"soft\">(.*?)</small>", page)
    assert metered == [
        "1,200 tokens in (1,000 cached), 30 out, 12% of the window",
        "2,600 tokens in (0 cached), 5 out, 26% of the window",
    ]
    assert "3 steps; 2 requests: 3,800 tokens in (1,000 cached), 35 out, at most 26% of a window<" in page


def test_a_view_page_links_to_each_of_its_versions(desk):
    client, (view, _, less_sure), _ = desk
    page = client.get("/desk/v/V-001").text
    assert re.findall(r'href="\?as_of=([^"]+)">as of that time', page) == [iso(less_sure), iso(view)]
    assert client.get(f"/desk/v/V-001?as_of={iso(view)}").text.count("as of that time") == 1
    assert client.get("/desk/v/V-001?as_of=2014-05-01T00:00:00Z").status_code == 400


def test_an_expression_page_compares_the_expression_with_each_limit(desk):
    client, _, _ = desk
    page = client.get("/desk/e/E-001").text
    remaining = re.findall(r'<th scope="row">(max [a-z ]+)</th>.*?<span class="tag \w+">(.*?)</span>', page)
    assert remaining == [
        ("max single risk", "a number is missing"), ("max gross exposure", "over"),
        ("max duration contribution", "only claimed"), ("max factor concentration", "only claimed"),
        ("max single name", "over"), ("max net exposure", "over"),
    ]  # fmt: skip


def test_a_decision_page_shows_its_records_and_replays_by_post_with_the_token(desk):
    client, (view, *_), decision = desk
    page = client.get(f"/desk/d/{decision}").text
    assert re.search(rf"<code>{decision}</code>.*?<code>V-001</code></td><td class=\"small\">wrote", page)
    assert "exposed: its model may know later events" in page
    assert re.search(r'id="h-a".*?<pre[^>]*>(.*?)</pre>', page)[1] == "It slows."
    refused = client.post(f"/desk/d/{decision}/replay", headers={"origin": BASE})
    assert refused.status_code == 403
    assert client.get(f"/desk/d/{decision}/replay", headers=UNLOCKED).status_code == 405
    replayed = client.post(f"/desk/d/{decision}/replay", headers=UNLOCKED).text
    assert re.search(r'id="replayed">(.*?)</p>', replayed)[1] == "0 differences"
    early = client.get(f"/desk/d/{decision}?as_of=2014-05-01T00:00:00Z")
    assert early.status_code == 400
    assert "<code>E-001</code>" in page
    assert "<code>E-001</code>" not in client.get(f"/desk/d/{decision}?as_of={iso(view)}").text


@pytest.mark.parametrize(
    "path",
    ["/desk/v/V-999", "/desk/v/..%2Fstate", "/desk/e/V-001", "/desk/d/D-none", "/desk?as_of=2999-01-01T00:00:00Z"],
)
def test_a_missing_record_or_future_instant_gives_a_single_error_sentence(desk, path):
    client, _, _ = desk
    answer = client.get(path)
    assert answer.status_code in (400, 404)
    assert len(re.findall(r'<p class="note bad">', answer.text)) == 1


def test_the_calibration_page_shows_measured_categories(desk):
    client, _, _ = desk
    assert "No category was measured" in client.get("/desk/calibration").text
    memory = Memory()
    least, most = wilson(0.9, 40)
    band = Band(low=0.5, high=0.6, forecasts=40, bias=-0.35, least=least, most=most)
    measured = Calibration(
        id="macro_regime", forecasts=40, brier=0.21, ece=0.35, null_ece=0.14, status="measured", bands=(band,),
        log_score=0.61, reliability=0.03, resolution=0.02,
        cells=(
            Cell(horizon="to 1 month", source="agent", exposure="clean", forecasts=40, brier=0.21, base_brier=0.25),
            Cell(horizon="to 3 months", source="pm", exposure="exposed", forecasts=7),
        ),
    )  # fmt: skip
    wrote(turn(memory, "code", actor="code"), "/memory/calibration/macro_regime.md", measured, "measured")
    memory.close()
    page = client.get("/desk/calibration").text
    assert '<td class="num" data-l="Brier">0.210</td>' in page
    assert "worse than chance explains" in page
    assert '<td class="num" data-l="Came true">0.90</td><td class="num" data-l="By chance">0.40 to 0.70</td>' in page
    assert "above what chance explains" in page
    assert page.count('class="k-band"') == 2  # for a wide and for a narrow window
    assert "1 of them outside the range of chance" in page
    assert "Log score 0.610 nats. Of the Brier score, 0.030 comes from" in page
    rows = [re.findall(r">([^<>]+)</t[hd]>", row) for row in page.split("by horizon, who wrote")[1].split("<tr>")[2:]]
    assert [row[:6] for row in rows] == [
        ["to 1 month", "agent", "clean", "40", "0.210", "0.250"],
        ["to 3 months", "pm", "exposed", "7", "insufficient", "insufficient"],
    ]


def test_only_a_long_answer_is_shortened_and_its_full_text_stays_available():
    long, short = "row " * 100, "gap: no such series"
    tool, message = '["fetch", {"source": "news"}]', json.dumps({"text": "I will look. " * 40, "calls": []})
    steps = [
        Step("agent", 1, "tool", tool, long),
        Step("agent", 2, "tool", tool, short),
        Step("agent", 3, "model", "", message),
        Step("review D-1:agent:10", 1, "model", "", message),
    ]
    first, second, third, reviewed = Decision(None, None, steps, []).lines
    assert (third.lane, reviewed.lane) == ("agent", "review 10")
    assert (first.whole, len(first.answer) < len(long)) == (long, True)
    assert (second.answer, second.whole) == (short, "")
    assert third.whole == "I will look. " * 40


def test_the_desk_shows_another_memory_read_only(desk, tmp_path, monkeypatch):
    client, _, _ = desk
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    for clock, confidence in ((None, 0.31), (Simulated("april", instant("2024-04-10T12:00:00Z")), 0.87)):
        memory = Memory(clock=clock)
        wrote(turn(memory, "s"), "/memory/views/new.md", replace(NEW_VIEW, confidence=confidence), "view")
        memory.flush()
        memory.close()
    live, april = client.get("/desk").text, client.get("/desk?memory=april").text
    assert ("0.31" in live, "0.87" in live) == (True, False)
    assert ("0.31" in april, "0.87" in april) == (False, True)
    assert "backtest april, read-only" in april
    assert '<a href="/desk?memory=april">april</a>' in live
    assert 'href="/desk/v/V-001?memory=april"' in april
    assert "0.87" in client.get("/desk/v/V-001?memory=april").text
    assert "there is no memory &#39;aprill&#39;; did you mean april?" in client.get("/desk?memory=aprill").text


@pytest.mark.parametrize("name", ["forge", "forge-simulated-days"])
def test_a_decision_page_shows_the_book_before_and_after_its_proposal(tmp_path, monkeypatch, name):
    """A simulated book may be written at the instant of the question, a microsecond before it is read."""
    at = "2014-05-29T12:30:00Z" if name != "forge" else None
    memory = Memory(tmp_path / "forge", clock=Simulated("days", at) if at else None)
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / name))
    wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    wrote(turn(memory), "/memory/views/new.md", NEW_VIEW, "view")
    trade = replace(NEW_EXPRESSION, status="proposed", direction="short", notional=10.0)
    writes = tuple(
        Call("write", {"path": "/memory/expressions/new.md", "content": render(record)}, f"id{number}")
        for number, record in enumerate((trade, replace(trade, status="draft", body="only a draft")))
    )
    model = Scripted([Answer("", writes, "tools", "m", 1, 1), Answer("Short it.", (), "stop", "m", 1, 1)])
    agent = Agent(memory, Tape(tmp_path / "forge-tape.sqlite"), lambda role: model, tmp_path / "none")
    decision = asyncio.run(agent.ask("What now?", at)).decision
    memory.close()
    with browsing(small(tmp_path / "lake").root, rooms=(room,)) as client:
        page = client.get(f"/desk/d/{decision}").text.split('id="h-k"')[1].split("</table>")[0]
    rows = [re.findall(r">([^<>]+)</t[hd]>", row) for row in page.split("<tr")[2:]]
    assert rows == [
        ["gross", "100", "110"], ["net", "20", "10"], ["duration", "2", "3.50"], ["rates", "10", "15"],
    ]  # fmt: skip
