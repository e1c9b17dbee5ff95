"""The first page of the day is sent to the channels in FORGE_NOTIFY, and its tables are exported as a workbook."""

import json
import re
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import date
from xml.etree import ElementTree as ET

import pytest

from forge.desk import papers
from forge.memory import Memory
from forge.memory.cash import open_account
from forge.memory.fills import import_fills
from forge.records import Settles
from forge.tracking.settlement import whole_memory
from pitlake import cli
from tests.forge.test_account import HEADER, SETTINGS, line
from tests.forge.test_untaken import DAYS, at, lake, memory, standing
from tests.forge.world import NEW_VIEW, wrote
from tests.loopback import Answer, Loopback

__all__ = ["lake", "memory"]


@pytest.fixture
def hook():
    server = Loopback()
    server.plays("/s3cret", Answer(b""))
    yield server
    server.close()


@pytest.fixture
def due(lake, tmp_path, monkeypatch):
    """A live memory with a due View, which raises an alert."""
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(lake.root))
    (tmp_path / "forge.toml").write_text("[alerts]\nview_due_days = 9999\n")
    question = Settles(query="entity_latest_price", params={"ticker": "QBG"}, rule="close > 1", by=date(2036, 9, 1))
    with closing(Memory()) as outcome:
        wrote(standing(outcome), "/memory/views/new.md", replace(NEW_VIEW, settles=question), "view")


@pytest.mark.usefixtures("due")
def test_the_brief_and_the_alerts_are_sent_to_a_webhook(hook, monkeypatch, capsys):
    monkeypatch.setenv("FORGE_NOTIFY", f"json://someone:hidden@127.0.0.1:{hook.server_port}/s3cret")
    assert cli.invoke(["forge", "desk", "--send", "brief"]) == 0
    printed = capsys.readouterr()
    assert cli.invoke(["forge", "desk", "--send", "alerts"]) == 0
    brief, alerts = (json.loads(body) for _, _, _, body in hook.asked)
    assert brief["title"] == "Forge: 2 need you"
    assert brief["message"].splitlines()[1:] == printed.out.splitlines()[1:]
    assert "View due: V-001 is due on 2036-09-01: close > 1" in alerts["message"].splitlines()
    assert "positions" not in alerts["message"]
    assert "hidden" not in printed.out + printed.err


@pytest.mark.usefixtures("due")
def test_a_failed_or_missing_channel_is_reported_in_one_line_without_credentials(hook, monkeypatch, capsys):
    monkeypatch.delenv("FORGE_NOTIFY", raising=False)
    assert cli.invoke(["forge", "desk", "--send", "brief"]) == 2
    assert "FORGE_NOTIFY: is not set; name channels" in capsys.readouterr().err
    hook.plays("/s3cret", Answer(b"", 500))
    monkeypatch.setenv("FORGE_NOTIFY", f"json://someone:hidden@127.0.0.1:{hook.server_port}/s3cret")
    assert cli.invoke(["forge", "desk", "--send", "alerts"]) == 1
    (reply,) = capsys.readouterr().err.splitlines()
    assert reply.endswith("no alert went through json://127.0.0.1 (not delivered); see FORGE_NOTIFY")


def test_a_desk_without_alerts_sends_none(hook, tmp_path, lake, monkeypatch, capsys):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.setenv("FORGE_NOTIFY", f"json://127.0.0.1:{hook.server_port}/s3cret")
    assert cli.invoke(["forge", "desk", "--lake", str(tmp_path / "none"), "--send", "alerts"]) == 0
    assert "nothing needs you" in capsys.readouterr().out
    assert hook.asked == []


def test_a_desk_says_that_trading_is_halted(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    assert cli.invoke(["forge", "halt", "--reason", "fire drill"]) == 0
    assert cli.invoke(["forge", "desk", "--lake", str(tmp_path / "none")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[-10:] for line in lines if line.startswith("halted: trading stopped by ")] == ["fire drill"]
    assert "nothing needs you" not in lines


def test_a_workbook_has_every_table_with_numbers_as_numbers_and_no_formula(memory, lake, tmp_path):
    sheet = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    open_account(memory, SETTINGS.capital, 0.0)
    file, now = tmp_path / "desk.xlsx", at(memory, lake, DAYS[3])
    import_fills(memory, HEADER + line(DAYS[1], quantity=10))
    remembered = whole_memory(memory, now.as_of)
    papers.workbook(remembered, now, file)
    with zipfile.ZipFile(file) as book:
        sheets = re.findall(r'<sheet name="(\w+)"', book.read("xl/workbook.xml").decode())
        assert sheets == ["positions", *papers.TABLES]
        assert b"<f>" not in b"".join(book.read(name) for name in book.namelist())
        shared = ["".join(node.itertext()) for node in ET.fromstring(book.read("xl/sharedStrings.xml"))]
        rows = [
            list(row.iter(f"{sheet}c"))
            for row in ET.fromstring(book.read("xl/worksheets/sheet1.xml")).iter(f"{sheet}row")
        ]
    values = [[(cell.get("t"), cell.findtext(f"{sheet}v")) for cell in row] for row in rows]
    head, (ticker, *numbers) = (
        [shared[int(text)] if kind == "s" else float(text) for kind, text in row if text is not None] for row in values
    )
    assert (head[0], ticker, numbers[0]) == ("instrument", "QBG", 20.0)  # 10 shares before a two-for-one split
