"""The PM's own commands, on the command line and on the pages: constraints, own Views, adjust, close, settle, stop."""

import asyncio
import getpass
import json
import re
from contextlib import closing
from dataclasses import replace

import pytest

from forge.agent.agent import Agent
from forge.cli.walk import _change
from forge.core.tape import Tape
from forge.desk import desk
from forge.desk.commands import decisions_under_way, stop
from forge.memory import Memory
from forge.memory.fills import fills
from forge.memory.halts import halted
from forge.model import Answer, Call
from forge.model.scripted import Scripted
from forge.records import KINDS, parse, render
from forge.tracking.settlement import whole_memory
from forge.walk.run import run
from forge.web import room
from pitlake import cli
from pitlake.errors import BadInput
from tests.doors.conftest import small
from tests.forge.walks import DAYS, scripted, world
from tests.forge.world import NEW_VIEW, activated, desk_with_proposal, turn
from tests.web.browsing import BASE, TOKEN, browsing

FILLS = (
    "ticker,quantity,price,filled_at,fees,expression\n"
    "QBRY,100,720.5,2024-02-15T10:30:00-05:00,1.5,\n"
    "fx:EURUSD,-50,1.08,2024-02-15T11:30:00-05:00,,\n"
)
UNLOCKED = {"origin": BASE, "cookie": f"pitlake_token={TOKEN}"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(tmp_path / "lake"))
    (tmp_path / "forge.toml").write_text("[account]\ncapital = 100000\n")
    return tmp_path


@pytest.fixture
def memory(home):
    outcome = Memory()
    desk_with_proposal(outcome, stop="30")
    activated(outcome)
    yield outcome
    outcome.close()


@pytest.fixture
def client(memory, home):
    with browsing(small(home / "lake").root, rooms=(room,)) as outcome:
        yield outcome


def read(memory, kind, name):
    return parse(KINDS[kind], turn(memory).read_file(KINDS[kind].path(name)))


def test_own_view_writes_a_view_as_the_pm_or_lists_every_fault(home, capsys):
    assert cli.invoke(["forge", "own-view"]) == 0
    example = capsys.readouterr().out
    (home / "view.md").write_text(example.replace("confidence: 0.6", "confidence: 7").replace("macro_regime", "mood"))
    assert cli.invoke(["forge", "own-view", "view.md"]) == 2
    err = capsys.readouterr().err
    assert ("confidence" in err, "category" in err) == (True, True)
    (home / "view.md").write_text(example)
    assert cli.invoke(["forge", "own-view", "view.md"]) == 0
    assert capsys.readouterr().out == "V-001\n"
    (home / "view.md").write_text(example.replace("# new", "# V-001").replace("us_growth", "us"))
    assert cli.invoke(["forge", "own-view", "view.md", "--id", "V-001"]) == 0
    with closing(Memory()) as memory:
        rows = [(row.path, row.actor) for row in memory.journal.rows()]
        assert rows == [("/memory/views/V-001.md", "pm")] * 2
        assert read(memory, "views", "V-001").scope == "us"


def test_a_missing_or_non_utf_8_file_gives_one_clear_error(home, capsys):
    (home / "view.md").write_bytes(b"\xff\xfe")
    assert cli.invoke(["forge", "own-view", "view.md"]) == 2
    assert capsys.readouterr().err == "pitlake: FILE: is not UTF-8 text; give FILE in UTF-8\n"
    with pytest.raises(BadInput, match="FILE: is not UTF-8 text"):
        _change(1, "answer=@view.md")
    with pytest.raises(BadInput, match="FILE: can't be read: No such file or directory"):
        _change(1, "answer=@none.md")
    assert not (home / "forge").exists()


def test_the_desk_pages_run_the_commands_only_by_post_with_the_token(client, memory):
    page = client.get("/desk/commands").text
    assert "Stop, now 30" in page
    once = re.search(r'name="once" value="([0-9a-f]{16})"', page)[1]
    sent = {
        "/desk/constrain": {"max_gross": "150"},
        "/desk/own-view": {"text": render(replace(NEW_VIEW, confidence=0.25)), "once": once},
        "/desk/adjust": {"id": "E-001", "stop": "33", "expires": "2199-01-02"},
        "/desk/close": {"id": "E-001", "reason": "thesis broken"},
        "/desk/settle": {},
        "/desk/calibrate": {},
        "/desk/halt": {"reason": "fire drill"},
        "/desk/release": {"reason": "over"},
        "/desk/fills": {"fills": FILLS},
        "/desk/void": {"id": "F-002", "reason": "not ours"},
        "/desk/restore": {"id": "F-002", "reason": "ours"},
        "/desk/cash": {"entry": "deposit", "amount": "250", "on": "2024-03-01", "reason": "wire"},
    }
    done = {
        "/desk/constrain": "<li>max_gross 150</li>",
        "/desk/own-view": "<li>V-002 is written</li>",
        "/desk/adjust": "<li>E-001: stop 33, expires 2199-01-02</li>",
        "/desk/close": "<li>E-001 closes at the end of ",
        "/desk/settle": 'role="status"><li>',
        "/desk/calibrate": "<li>no score changed</li>",
        "/desk/halt": "<li>trading is halted</li>",
        "/desk/release": "<li>trading is released</li>",
        "/desk/fills": "<li>2 new fills</li>",
        "/desk/void": "<li>F-002 (-50 fx:EURUSD at 1.08) is void; the book leaves it out from 2024-02-15 on</li>",
        "/desk/restore": "<li>F-002 (-50 fx:EURUSD at 1.08) is booked; the book counts it from 2024-02-15 on</li>",
        "/desk/cash": "<li>C-003 deposit 250.00 USD on 2024-03-01</li>",
    }
    before = memory.journal.head()
    for path, fields in sent.items():
        assert client.post(path, data=fields, headers={"origin": BASE}).status_code == 403, path
        assert client.get(path, headers=UNLOCKED).status_code == 405, path
    assert memory.journal.head() == before
    for path, fields in sent.items():
        answer = client.post(path, data=fields, headers=UNLOCKED)
        assert (answer.status_code, done[path] in answer.text) == (200, True), (path, answer.text)
    assert read(memory, "constraints", "constraints").max_gross == 150.0
    assert read(memory, "views", "V-002").confidence == 0.25
    content = read(memory, "expressions", "E-001")
    assert (content.status, content.stop, content.exit_reason) == ("active", "33", "thesis broken")
    booked = fills(whole_memory(memory, memory.journal.clock.now()))
    assert [(fill.instrument, fill.quantity) for fill in booked] == [("QBRY", 100.0), ("fx:EURUSD", -50.0)]
    assert {fill.source for fill in booked} == {"import"}
    assert re.findall(r'<option value="(F-\d+)">', client.get("/desk/commands").text) == ["F-001", "F-002"]
    assert "<li>0 new fills</li>" in client.post("/desk/fills", data=sent["/desk/fills"], headers=UNLOCKED).text
    before = memory.journal.head()
    again = sent["/desk/own-view"]
    assert done["/desk/own-view"] in client.post("/desk/own-view", data=again, headers=UNLOCKED).text
    changed = client.post("/desk/own-view", data=again | {"text": render(NEW_VIEW)}, headers=UNLOCKED)
    assert (changed.status_code, "already used" in changed.text) == (409, True)
    assert memory.journal.head() == before


def test_the_page_of_a_halted_desk_shows_the_reason_and_offers_the_release(client, memory):
    halt = {"reason": "<b>fire</b>"}
    page = client.post("/desk/halt", data=halt, headers=UNLOCKED).text
    assert ("Halted: &lt;b&gt;fire&lt;/b&gt;" in page, 'action="/desk/release"' in page) == (True, True)
    assert 'action="/desk/halt"' not in page
    assert halted(whole_memory(memory, memory.journal.clock.now())).by == getpass.getuser()


def test_each_label_of_a_halted_desk_names_one_field(client):
    page = client.post("/desk/halt", data={"reason": "fire"}, headers=UNLOCKED).text
    ids = re.findall(r' id="([^"]+)"', page)
    assert [name for name in ids if ids.count(name) > 1] == []


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("cash", {"entry": "borrow", "amount": "3.5 %", "ticker": "QBRY", "on": "2024-03-01", "reason": "the rate"}),
        ("void", {"reason": "wrong account"}),
        ("adjust", {"id": "E-001", "stop": "far", "target": "400", "expires": "2199-01-02"}),
    ],
)
def test_a_refused_form_shows_what_was_typed(client, path, fields):
    page = client.post(f"/desk/{path}", data=fields, headers=UNLOCKED).text
    form = re.search(rf'<form method="post" action="/desk/{path}">.*?</form>', page, re.DOTALL)[0]
    assert [text for text in fields.values() if f'value="{text}"' not in form and f"selected>{text}<" not in form] == []


def test_importing_fills_needs_a_capital_setting(client, memory, home):
    (home / "forge.toml").unlink()
    before = memory.journal.head()
    answer = client.post("/desk/fills", data={"fills": FILLS}, headers=UNLOCKED)
    assert (answer.status_code, "account.capital: is not set" in answer.text) == (409, True)
    assert memory.journal.head() == before


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("path", "fields", "problem"),
    [
        ("constrain", {"max_gross": "500"}, "500 is not between 0 and the settings&#39; 200"),
        ("constrain", {"max_gross": "much"}, "&#39;much&#39; is not a number"),
        ("constrain", {}, "no limit is given"),
        ("own-view", {"text": "# new\nconfidence: 7", "once": "0" * 16}, "confidence"),
        ("own-view", {"text": "# new", "id": "../x", "once": "0" * 16}, "is not a View"),
        ("own-view", {"text": render(NEW_VIEW)}, "open the page again"),
        ("adjust", {"id": "E-001"}, "no change is given"),
        ("adjust", {"id": "E-001", "expires": "soon"}, "&#39;soon&#39; is not a date"),
        ("adjust", {"id": "E-009", "stop": "1"}, "E-009"),
        ("close", {"id": "E-001", "reason": " "}, "reason: is empty"),
        ("stop", {"name": "D-none"}, "D-none is not running"),
        ("halt", {"reason": " "}, "is empty"),
        ("halt", {"reason": "fire\x07"}, ">reason: "),
        ("release", {"reason": "over"}, "trading is not halted"),
        ("void", {"id": "F-009", "reason": "x"}, "there is no fill"),
        ("cash", {"entry": "bonus", "amount": "5", "reason": "x"}, "&#39;bonus&#39; is not an entry"),
        ("cash", {"entry": "fee", "amount": "5", "on": "soon", "reason": "x"}, "&#39;soon&#39; is not a date"),
        ("cash", {"entry": "fee", "amount": "5", "reason": " "}, ">reason: "),
        ("fills", {"fills": "ticker,price\nNVDA,1"}, "the text has no column quantity"),
        ("fills", {"fills": f"{FILLS}QBRY,0,1,2024-02-15T10:30:00-05:00,,\n"}, "line 4: quantity is 0"),
    ],
)
def test_a_page_names_the_problem_of_a_refused_form_and_writes_nothing(client, memory, path, fields, problem):
    before = memory.journal.head()
    answer = client.post(f"/desk/{path}", data=fields, headers=UNLOCKED)
    assert (answer.status_code, problem in answer.text) == (409, True), answer.text
    assert memory.journal.head() == before


def test_a_running_decision_stops_before_its_next_request_and_replays(home):
    own, question = desk(), []

    def answer(_request):
        question.append(decisions_under_way(own))
        stop(own, question[0][0], "too dear")
        return Answer("Looking.", (Call("read", {"path": "/memory/views/"}, "1"),), "tools", "s", 1, 1)

    with closing(own.memory()) as memory:
        agent = Agent(memory, own.tape, lambda _role: Scripted(answer), home / "none")
        decided = asyncio.run(agent.ask("What of growth?"))
        assert (decided.end, len(question)) == ("stopped", 1)
        assert "stopped it: too dear" in decided.answer
        assert asyncio.run(agent.replay(decided.decision)).answer == decided.answer
    with pytest.raises(BadInput, match="is not running"):
        stop(own, decided.decision, "")


def test_a_running_backtest_stops_between_decisions_and_goes_on_when_started_again(home):
    own = desk()
    ground = replace(own.ground(world(home / "lake")), models=scripted)
    lines = []

    def stopping(line):
        lines.append(line)
        if len(lines) == 2:
            assert stop(own, "days", "enough") == "days stops before the next decision"

    first = run(DAYS, ground, stopping)
    assert (first.decisions, first.stopped.endswith("stopped it: enough")) == (2, True)
    with pytest.raises(BadInput, match="days is not running"):
        stop(own, "days", "")
    assert (run(DAYS, ground).decisions, run(DAYS, ground).stopped) == (7, "")
    undisturbed = replace(ground, folder=home / "other")
    run(DAYS, undisturbed)
    tapes = [Tape(place / "days" / "tape.sqlite") for place in (ground.folder, undisturbed.folder)]
    steps = [[json.dumps(tape.steps(name)) for name in tape.decisions()] for tape in tapes]
    assert steps[0] == steps[1]
