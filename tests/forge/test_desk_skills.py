"""Skills on the desk: the skills in force on a day, and a change that is applied as on the command line."""

import re
import shutil

import pytest

from forge.core.clock import Clock
from forge.core.skill_loader import OURS
from forge.evolution.approve import rollback
from forge.evolution.propose import record_test
from forge.evolution.revisions import folder_hash
from forge.memory import Memory
from forge.records import KINDS, parse
from forge.web import room
from pitlake import clock
from pitlake.clock import iso
from tests.doors.conftest import small
from tests.forge.test_evolution import CLAIM, START, proposed, write_daily
from tests.web.browsing import BASE, TOKEN, browsing

OWN = {"origin": BASE}
UNLOCKED = OWN | {"cookie": f"pitlake_token={TOKEN}"}
PATH = "/desk/skills/SEP-001/approve"
SKILL = "view-validation"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A memory with lessons that agree, and the proposal that results. Tests copy the memory."""
    home = tmp_path_factory.mktemp("made")
    display = [START]
    memory = Memory(home / "forge", clock=Clock("live", lambda: display[0]))
    write_daily(memory, display)
    proposed(memory, None)
    memory.close()
    small(home / "lake")
    return home


@pytest.fixture
def desk(made, tmp_path, monkeypatch):
    """A client of a copy of the desk, its memory, and the PM's skills folder, which does not exist yet."""
    home = shutil.copytree(made, tmp_path / "home")
    monkeypatch.setenv("FORGE_LAKE", str(home / "forge"))
    memory = Memory()
    with browsing(home / "lake", rooms=(room,)) as client:
        yield client, memory, home / "forge-skills"
    memory.close()


def hash_of(client):
    return re.findall(r"changed folder: <code>([0-9a-f]{64})</code>", client.get("/desk/skills").text)[0]


def in_force(client, as_of=""):
    """Return the skill's owner on the page, the start of its hash, and whether SEP-001 changed it."""
    page = client.get(f"/desk/skills?as_of={iso(as_of)}" if as_of else "/desk/skills").text
    row = re.search(rf'<th scope="row"[^>]*>{SKILL}</th>.*?</tr>', page)[0]
    whose, start = re.search(r'plain">([^<]+)<', row)[1], re.search(r"<code>(\w+)</code>", row)[1]
    return whose, start, "SEP-001" in row


def approval(memory):
    *_, newest = (row.content for row in memory.journal.rows() if row.kind == "approvals")
    return parse(KINDS["approvals"], newest)


def test_m1_a_skill_proposal_is_shown_as_a_diff(desk):
    client, _, _ = desk
    page = client.get("/desk/skills").text
    assert f"+- {CLAIM} (PK-001" in page
    assert "@@" in page
    assert "Its test: not tested: no model is configured." in page
    assert re.findall(r'name="untested" required', page)
    assert "SEP-001" in client.get("/desk").text


def test_m1_the_page_applies_exactly_the_shown_change_only_by_post_with_the_token(desk):
    client, memory, own = desk
    display = {"sha256": hash_of(client), "untested": "it is plain"}
    assert client.get(PATH, headers=UNLOCKED).status_code == 405
    assert client.post(PATH, data=display, headers=OWN).status_code == 403
    assert client.post(PATH, data=display, headers=UNLOCKED | {"origin": "http://evil.example"}).status_code == 403
    assert client.post(f"{PATH}?as_of={iso(START)}", data=display, headers=UNLOCKED).status_code == 400
    assert not own.exists()
    done = client.post(PATH, data=display, headers=UNLOCKED)
    assert (done.status_code, done.headers["location"]) == (303, "/desk/skills")
    assert folder_hash(own / SKILL) == display["sha256"]
    assert (approval(memory).reason, approval(memory).sha256) == (
        "not tested: no model is configured. it is plain", display["sha256"],
    )  # fmt: skip
    assert client.post(PATH, data=display, headers=UNLOCKED).status_code == 409


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"sha256": "0" * 64}, "has a different hash"),
        ({"sha256": ""}, "has a different hash"),
        ({"untested": " "}, "not tested: no model is configured"),
    ],
)
def test_m1_a_wrong_hash_or_a_missing_reason_changes_no_skill(desk, changed, problem):
    client, _, own = desk
    reply = {"sha256": hash_of(client), "untested": "it is plain"} | changed
    answer = client.post(PATH, data=reply, headers=UNLOCKED)
    assert answer.status_code == 409
    assert problem in answer.text
    assert not own.exists()


def test_m1_a_proposal_that_passed_its_trial_needs_no_reason(desk):
    client, memory, own = desk
    (waiting,) = [row for row in memory.journal.rows() if row.kind == "proposals"]
    record_test(memory, memory.hydrate(clock.now()).record(waiting), "passed: 9 pairs, 9 better, 0 worse, p = 0.0039")
    assert "untested" not in client.get("/desk/skills").text
    client.post(PATH, data={"sha256": hash_of(client)}, headers=UNLOCKED)
    assert folder_hash(own / SKILL) == hash_of(client)


def test_m1_a_day_shows_the_skills_that_were_in_force_on_it(desk):
    client, memory, own = desk
    before = folder_hash(OURS / SKILL)[:12]
    client.post(PATH, data={"sha256": hash_of(client), "untested": "it is plain"}, headers=UNLOCKED)
    applied, after = clock.now(), hash_of(client)[:12]
    assert in_force(client) == ("your own", after, True)
    assert in_force(client, START) == ("built-in", before, False)
    rollback(memory, SKILL, "pm", own)
    assert in_force(client) == ("built-in", before, True)
    assert in_force(client, applied) == ("your own", after, True)
    assert in_force(client, START) == ("built-in", before, False)
    assert approval(memory).status == "withdrawn"
