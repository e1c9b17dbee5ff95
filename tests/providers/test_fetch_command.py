"""`pitlake fetch` keeps its time limit with any source, imports little, and runs from the skill's script."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines.commands.fetch import OWN_SECONDS
from tests import loopback as plain
from tests.every import every
from tests.providers.conftest import KEY

FETCH = (sys.executable, "-c", "from pitlake.cli import main; main()", "fetch")
ROOT = Path(__file__).resolve().parents[2]


def test_the_wrapper_script_prints_help():
    script = ROOT / ".claude/skills/earnings-orchestrator/scripts/pit_fetch.py"
    command = [sys.executable, script, "--help"]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert process.stdout.startswith("Usage:")
    assert every(flag in process.stdout for flag in ("--source", "--pit", "--query", "--input-file"))


@pytest.mark.parametrize("fault", ["drip", "hang", "drop"])
def test_the_fetch_command_answers_in_time_when_the_source_hangs_or_fails(tmp_path, monkeypatch, fault):
    slow = plain.Loopback()
    slow.unknown = [plain.Answer(fault=fault)]
    for name, value in {"PITLAKE_BENZINGA_URL": slow.url, "BENZINGANEWS_API_KEY": KEY}.items():
        monkeypatch.setenv(name, value)
    command = [*FETCH, "--source", "benzinga", "--live", "--timeout", "3", "--lake", str(tmp_path / "lake")]
    began = time.monotonic()
    process = subprocess.run(
        [*command, "--date-from", "2024-02-01", "--date-to", "2024-02-20"], capture_output=True, timeout=120, check=True
    )
    took = time.monotonic() - began
    slow.close()
    payload = json.loads(process.stdout)
    assert (payload["data"], {gap["type"] for gap in payload["gaps"]}) == ([], {"upstream_error"})
    assert len(slow.asked) <= 3
    assert took < 3 + OWN_SECONDS


def test_the_fetch_command_gives_up_in_time_when_its_own_code_hangs():
    code = (
        "import time; from pipelines.commands import fetch; from pitlake import cli\n"
        "fetch.OWN_SECONDS, fetch._answered = 0.2, lambda *_: time.sleep(600)\n"
        "cli.main(['fetch', '--source', 'benzinga', '--timeout', '0.2'])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    payload = json.loads(process.stdout)
    assert (payload["data"], [gap["type"] for gap in payload["gaps"]]) == ([], ["upstream_error"])


def test_fetching_from_a_source_imports_no_heavy_platform_packages():
    code = (
        "import sys; from pipelines.fetch import answering; from assets.external import feed; feed('benzinga_news');"
        "print(*{'dagster', 'neo4j', 'pandas', 'exchange_calendars'} & {*sys.modules})"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == ""
