"""The PM's decisions on the pages: only on what was shown, by POST with the token. Every text field is hostile."""

import asyncio
import json
import re
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from forge.core.tape import Tape
from forge.memory import Memory
from forge.records import KINDS, Counterfactual, Invalidation, Mark, Outcome, Proposal, Scenario, content_hash, parse
from forge.web import room
from forge.web.charts import trade_charts
from forge.web.day import Day, Text
from pitlake import clock
from pitlake.clock import from_micros, instant, iso
from tests.doors.conftest import build, small
from tests.forge.world import BOOK, NEW_EXPRESSION, NEW_VIEW, now, reviewed, turn, wrote
from tests.web import chromium
from tests.web.browsing import BASE, TOKEN, browsing
from tests.web.chromium import MISSING, served
from tests.web.showing import RECEIPT

OWN = {"origin": BASE}
UNLOCKED = OWN | {"cookie": f"pitlake_token={TOKEN}"}
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7*7 }}"
SCENARIOS = (Scenario(name=HOSTILE, probability=0.6), Scenario(name="other", probability=0.4))
PAGES = (
    "/desk", "/desk/approvals", "/desk/calibration", "/desk/ledger", "/desk/skills", "/desk/v/V-001", "/desk/e/E-001",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A desk with hostile text in every free field. E-001 is reviewed, E-002 is not. Tests copy the desk."""
    home = tmp_path_factory.mktemp("made")
    memory = Memory(home / "forge")
    wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    view = replace(
        NEW_VIEW, scope=HOSTILE, horizon=HOSTILE, body=HOSTILE, scenarios=SCENARIOS,
        invalidation=(Invalidation(condition=HOSTILE),),
    )  # fmt: skip
    wrote(turn(memory), "/memory/views/new.md", view, "view")
    draft = replace(
        NEW_EXPRESSION, status="proposed", instrument=HOSTILE, entry_details=HOSTILE, target=HOSTILE, stop=HOSTILE,
        body=HOSTILE, factor_exposures={"rates": 5.0, HOSTILE: 1.0},
    )  # fmt: skip
    for name in ("one", "two"):
        wrote(turn(memory), "/memory/expressions/new.md", replace(draft, entry_details=f"{HOSTILE} {name}"), name)
    reviewed(memory, read(memory, "E-001"))
    code = turn(memory, "code", actor="code")
    against = Counterfactual(
        id="new", decision_type="other", view="V-001", reason=HOSTILE, problem=HOSTILE, exit_reason=HOSTILE,
        reference_date=now(), total_return=0.0125,
        marks=tuple(Mark(day=now().date(), value=value) for value in (0.0, 0.0125)),
    )  # fmt: skip
    wrote(code, "/memory/counterfactuals/new.md", against, "against")
    wrote(code, "/memory/outcomes/new.md", Outcome(id="new", view="V-001", expression="E-001", status=HOSTILE), "out")
    proposal = Proposal(id="new", skill=HOSTILE, file=HOSTILE, author=HOSTILE, body=HOSTILE)
    wrote(code, "/memory/proposals/new.md", proposal, "proposal")
    tape = Tape(f"{memory.lake.root}-tape.sqlite")
    tape.begin(
        "D-live", {"text": HOSTILE, "as_of": iso(clock.now()), "clock": "live", "trigger": "alert", "session": "s"}
    )
    memory.close()
    small(home / "lake")
    return home


def read(memory, name):
    return parse(KINDS["expressions"], turn(memory).read_file(f"/memory/expressions/{name}.md"))


@pytest.fixture
def desk(made, tmp_path, monkeypatch):
    """A client of a copy of the desk, and its memory."""
    home = shutil.copytree(made, tmp_path / "home")
    monkeypatch.setenv("FORGE_LAKE", str(home / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(home / "lake"))
    memory = Memory()
    with browsing(home / "lake", rooms=(room,)) as client:
        yield client, memory
    memory.close()


def test_a_pending_expression_is_shown_with_review_guardrails_and_hash(desk):
    client, memory = desk
    page = client.get("/desk/approvals").text
    display = content_hash(read(memory, "E-001"))
    assert page.count(f"<code>{display}</code>") == 1
    assert "R-001 by scripted-1" in page
    assert "no review of exactly this content" in page
    assert re.findall(r'<button class="main"( disabled)?>', page).count(" disabled") == 1
    assert "max gross exposure" in page
    books = re.findall(r'<tr class="chg"><th scope="row">(.*?)</th>.*?"Before">(.*?)</td>.*?"After">(.*?)</td>', page)
    assert ("gross", "100", "110") in books
    assert ("factor rates", "10", "15") in books


def test_the_page_approves_an_expression_only_with_token_hash_and_confirmation(desk):
    client, memory = desk
    display = {"sha256": content_hash(read(memory, "E-001"))}
    path = "/desk/e/E-001/approve"
    assert client.get(path, headers=UNLOCKED).status_code == 405
    assert client.post(path, data=display, headers=OWN).status_code == 403
    assert client.post(path, data=display, headers=UNLOCKED | {"origin": "http://evil.example"}).status_code == 403
    assert client.post(path, data=display, headers=UNLOCKED | {"host": "evil.example"}).status_code == 421
    assert read(memory, "E-001").status == "proposed"
    unconfirmed = client.post(path, data=display, headers=UNLOCKED)
    assert (unconfirmed.status_code, "code can&#39;t compute max_single_risk: claimed 1" in unconfirmed.text) == (
        409,
        True,
    )
    assert 'name="confirmed" required> I confirm what code can\'t compute: max single risk 1' in unconfirmed.text
    done = client.post(path, data=display | {"confirmed": "on"}, headers=UNLOCKED)
    assert (done.status_code, done.headers["location"]) == (303, "/desk/e/E-001")
    assert read(memory, "E-001").status == "active"
    assert memory.journal.rows()[-1].seq == memory.hydrate(memory.journal.clock.now()).head.seq


def test_the_page_names_the_users_who_may_approve_and_waits_for_the_second(desk):
    client, memory = desk
    settings = Path(f"{memory.lake.root}.toml")
    settings.write_text('[approvers]\nusers = ["anna", "ben"]\nsecond_above = 5.0\n')
    page, display = (
        client.get("/desk/approvals").text,
        {"sha256": content_hash(read(memory, "E-001")), "confirmed": "on"},
    )
    assert '<select name="by" required><option value=""></option><option>anna</option><option>ben</option>' in page
    steps = (
        ("carl", "proposed", None),
        ("anna", "proposed", "/desk/approvals#E-001"),
        ("ben", "active", "/desk/e/E-001"),
    )
    for by, status, place in steps:
        answer = client.post("/desk/e/E-001/approve", data=display | {"by": by}, headers=UNLOCKED)
        assert (read(memory, "E-001").status, answer.headers.get("location")) == (status, place)
        if by == "anna":
            assert "approved by anna; a second person must approve" in client.get("/desk/approvals").text
    assert client.get("/desk/commands").text.count('<select name="by" required>') == 2
    for by, closes in (("", False), ("carl", False), ("ben", True)):
        page = client.post("/desk/close", data={"id": "E-001", "reason": "done", "by": by}, headers=UNLOCKED).text
        assert ("E-001 closes at the end of" in page) == closes
        assert ("is not among [approvers] users" in page) != closes


def test_an_expression_changed_since_page_load_is_shown_again_and_not_approved(desk):
    client, memory = desk
    before = content_hash(read(memory, "E-001"))
    path = "/memory/expressions/E-001.md"
    wrote(turn(memory), path, replace(read(memory, "E-001"), max_loss_pct=4.0), "more")
    reviewed(memory, read(memory, "E-001"))
    for decision in ("approve", "reject"):
        answer = client.post(f"/desk/e/E-001/{decision}", data={"sha256": before, "reason": "x"}, headers=UNLOCKED)
        assert answer.status_code == 409
        assert "has changed since this page was loaded" in answer.text
        assert content_hash(read(memory, "E-001")) in answer.text
    assert read(memory, "E-001").status == "proposed"


@pytest.mark.parametrize("sent", [{}, {"sha256": ""}, {"sha256": "0" * 64}])
def test_nothing_is_approved_without_its_hash(desk, sent):
    client, memory = desk
    assert client.post("/desk/e/E-001/approve", data=sent, headers=UNLOCKED).status_code == 409
    assert read(memory, "E-001").status == "proposed"


def test_a_refused_approval_names_the_obstacle(desk):
    client, memory = desk
    display = {"sha256": content_hash(read(memory, "E-002"))}
    answer = client.post("/desk/e/E-002/approve", data=display, headers=UNLOCKED)
    assert answer.status_code == 409
    assert "no review of exactly this content" in answer.text
    assert read(memory, "E-002").status == "proposed"


def test_a_rejection_needs_a_reason_and_becomes_a_counterfactual(desk):
    client, memory = desk
    display = {"sha256": content_hash(read(memory, "E-002"))}
    assert client.post("/desk/e/E-002/reject", data=display | {"reason": " "}, headers=UNLOCKED).status_code == 409
    assert client.post("/desk/e/E-002/reject", data=display | {"reason": HOSTILE}, headers=UNLOCKED).status_code == 303
    assert read(memory, "E-002").status == "rejected"
    assert "CF-002" in client.get("/desk/ledger").text
    assert "E-002" not in client.get("/desk/approvals").text


def test_approvals_as_of_a_past_instant_are_shown_but_cannot_be_decided(desk):
    client, memory = desk
    (then,) = [from_micros(row.written_at) for row in memory.journal.rows() if row.path.endswith("E-001.md")]
    page = client.get(f"/desk/approvals?as_of={iso(then)}").text
    assert "E-001" in page
    assert "E-002" not in page
    assert '<form method="post"' not in page
    display = {"sha256": content_hash(read(memory, "E-001"))}
    response = client.post(f"/desk/e/E-001/approve?as_of={iso(then)}", data=display, headers=UNLOCKED)
    assert response.status_code == 400
    assert read(memory, "E-001").status == "proposed"


def test_a_running_decision_shows_its_steps_live_until_the_end(desk):
    client, memory = desk
    tape = Tape(f"{memory.lake.root}-tape.sqlite")
    assert 'href="/desk/d/D-live"' in client.get("/desk").text
    assert "0 steps, refreshed" in client.get("/desk/d/D-live").text
    lane = tape.lane("D-live")
    asyncio.run(lane.once("tool", ["read", {"path": HOSTILE}], lambda: answered(HOSTILE)))
    page = client.get("/desk/d/D-live").text
    assert 'id="run" aria-labelledby="h-s" data-live>' in page
    assert re.search(r"<b>agent 1</b><span>read</span><span>path: &lt;script", page)
    tape.add_receipt("D-live", json.dumps(RECEIPT))
    assert "data-live" not in client.get("/desk/d/D-live").text


async def answered(text):
    return text


@pytest.mark.long
@pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {', '.join(MISSING)}")
def test_a_browser_sees_the_steps_of_a_running_decision_appear_and_the_run_end(desk):
    _, memory = desk
    tape = Tape(f"{memory.lake.root}-tape.sqlite")
    with served(memory.lake.root.parent / "lake", (room,)) as base, chromium.browsing() as browser:
        browser.go(f"{base}/desk/d/D-live")
        assert browser.run("return document.querySelectorAll('#run li').length") == 0
        asyncio.run(tape.lane("D-live").once("tool", ["read", {"path": HOSTILE}], lambda: answered("41 lines")))
        assert "41 lines" in browser.until("return document.querySelector('#run li')?.innerText")
        tape.add_receipt("D-live", json.dumps(RECEIPT))
        browser.until("return document.querySelector('#run') && !document.querySelector('[data-live]')")
        assert browser.console() == []


@pytest.mark.parametrize("path", [*PAGES, "/desk/d/D-live"])
def test_hostile_text_in_every_field_stays_text(desk, path):
    client, _ = desk
    page = client.get(path).text
    assert re.findall(r"<script[^>]*>", page) == ['<script src="/static/pitlake.js" defer>']
    assert "<img" not in page
    assert "unsafe" not in client.get(path).headers["content-security-policy"]
    if path != "/desk/calibration":
        assert "&lt;script&gt;alert(1)" in page
        assert "{{ 7*7 }}" in page


@pytest.mark.parametrize("path", PAGES)
def test_every_page_applies_the_requested_as_of_and_carries_it_in_links(desk, path):
    records = ("/desk/v/V-001", "/desk/e/E-001")
    client, memory = desk
    early = f"as_of={iso(from_micros(memory.journal.rows()[0].written_at) - timedelta(days=1))}"
    page = client.get(f"{path}?{early}")
    assert page.status_code == (400 if path in records else 200)
    assert "&lt;script" not in page.text
    assert page.status_code == 400 or f'<a href="/desk/ledger?{early}"' in page.text


def test_a_trade_is_charted_with_stop_and_target_up_to_the_as_of_date(desk, tmp_path):
    lake = build(tmp_path / "priced")
    content = replace(NEW_EXPRESSION, id="E-001", instrument="QBG", target="60", stop="50", direction="long")
    texts = [Text(instant("2024-02-12T12:00:00Z"), content)]

    def drawn(at):
        day = Day.of(instant(at), lake)
        message = day.course(texts)
        day.close()
        return message, trade_charts(content, message, day.at)[0]

    reply, picture = drawn("2024-02-21T00:00:00Z")
    assert (reply.path.entry_price, len(reply.path.marks), reply.path.reason) == (51.0, 6, "")
    assert "target 17.6471, stop -1.9608" in picture
    assert str(reply.path.marks[-1].day) < "2024-02-21"
    assert drawn("2024-03-05T00:00:00Z")[0].path.reason == "target"
    day = Day.of(instant("2024-02-21T00:00:00Z"), lake)
    assert day.course([Text(texts[0].at, replace(content, status="proposed"))]).startswith("It was never active")
    assert "is not a price in USD" in day.course([Text(texts[0].at, replace(content, target="110-16"))])
    day.close()
