"""The pages in docs/forge: the records, settings and skills are valid, and the commands of a day with Forge run
unchanged.

The tests of all pages run the other code on these pages. The day's models are a server on loopback.
"""

import json
import re
import shlex
import tomllib
from dataclasses import replace
from pathlib import Path

from forge.core.config import ROLES, from_mapping
from forge.core.skill_loader import SkillLoader
from forge.records import KINDS, parse, render
from pitlake import cli
from tests.forge.test_anthropic import events, text, use
from tests.forge.world import NEW_EXPRESSION, NEW_VIEW

PAGES = Path(__file__).resolve().parents[2] / "docs" / "forge"


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (PAGES / page).read_text(), re.DOTALL | re.MULTILINE)


def test_the_record_in_the_docs_is_valid():
    (reply,) = re.findall(r"^```\n(# V.*?)^```$", (PAGES / "ideas.md").read_text(), re.DOTALL | re.MULTILINE)
    assert render(parse(KINDS["views"], reply)) == reply


def test_the_settings_in_the_docs_are_valid():
    texts = blocks("configuration.md", "toml")
    settings, contracts, typed, small, control, context = map(from_mapping, map(tomllib.loads, texts))
    assert contracts.account.contracts["future:FESX"].currency == "EUR"
    assert settings.budgets.day.dollars == 20.0
    assert context.context.windows == {"openai:our-own": 32768}
    assert (typed.model.typed_writes, small.model.profile) == (True, "small")
    assert control.model.control_trained_to == "2014-12-31"


def test_the_skill_in_the_docs_is_valid(tmp_path):
    (reply,) = blocks("writing-a-skill.md", "markdown")
    (tmp_path / "curve-analysis").mkdir()
    (tmp_path / "curve-analysis" / "SKILL.md").write_text(reply)
    assert SkillLoader(tmp_path).load("curve-analysis").allowed_tools == ("fetch", "read", "search")


def called(name, number=0, **arguments):
    return use(json.dumps(arguments), name, f"toolu_{number}")


def test_the_day_in_the_docs_runs_as_written(server, place, monkeypatch, capsys):
    """A loopback server has every role: it writes a View and two Expressions, has one reviewed, and answers."""
    trade, path = replace(NEW_EXPRESSION, status="proposed"), "/memory/expressions/new.md"
    proposals = [render(trade), render(replace(trade, body="another"))]
    script = [
        events(called("write", path="/memory/views/new.md", content=render(NEW_VIEW)), stop="tool_use"),
        events(*(called("write", n, path=path, content=each) for n, each in enumerate(proposals)), stop="tool_use"),
        events(called("review", output="E-001", focus="loss"), stop="tool_use"),
        events(text("It is cut.\n\nVERDICT: approve")),
        events(text("Growth slows: V-001.")),
    ]
    server.script = [(200, each, 0) for each in script]
    for role in ROLES:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv(f"FORGE_MODEL_{role.upper()}", f"anthropic:claude-x@{url}")
    for name, text_of_file in zip(("positions.csv", "fills.csv"), blocks("a-day.md", "csv"), strict=True):
        (place / name).write_text(text_of_file)
    message, decision, sha256 = [], "", ""
    for line in "".join(blocks("a-day.md", "sh")).splitlines():
        if line.startswith("pitlake forge fills import"):
            (place / ".pitlake" / "forge.toml").write_text("[account]\ncapital = 1000000\n")
        command, _, file = line.partition(" > ")
        words = shlex.split(command.replace("DECISION", decision).replace("HASH", sha256))
        assert (words[0], cli.invoke(words[1:])) == ("pitlake", 0), (line, capsys.readouterr().err)
        output = capsys.readouterr()
        message.append(output.out)
        if file:
            (place / file).write_text(output.out)
        sha256 = next(iter(re.findall(r"^hash: (\S+)", output.out, re.MULTILINE)), sha256)
        decision = next(iter(re.findall(r"^decision (\S+) \(answered", output.err, re.MULTILINE)), decision)
    assert message[1] == "2 positions, gross 50 %, net 30 %\n"
    assert "\nneeds a decision\nnothing needs you\n" in message[2]
    assert message[3] == "Growth slows: V-001.\n"
    assert message[6].count("status") + message[6].count("proposed") == 2
    assert message[10] == "E-001  view:V-001 | active\nE-002  view:V-001 | rejected\n"
    assert f"{decision} → V-001 (wrote)" in message[11]
    assert message[12] == "Growth slows: V-001.\n"
    assert message[13:16] == [
        "1 new fill\n",
        "F-001 (100 QBRY at 720.5) is void; the book leaves it out from 2024-02-15 on\n",
        "C-003 deposit 250,000.00 USD on 2024-03-01\n",
    ]
    assert "net asset value       1,248,800.00 USD" in message[17]
    assert message[18].startswith("id,view,expression,")
    assert "question: Growth slows: what do we think" in message[20]
    assert (place / "desk.xlsx").read_bytes().startswith(b"PK")
    assert message[22] == "C-005 borrow of QBRY, 3.5 % a year, on 2024-03-01\n"
