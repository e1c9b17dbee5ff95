"""Dagster's UI in a browser: the releases of a year or month are selected by name and built in one run."""

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import dagster as dg
import pytest

from assets.derived.earnings_bundles import events
from local_servers.server import free_port
from pipelines.earnings import register
from tests.derived.test_earnings_bundles import fill
from tests.web.chromium import MISSING, browsing

pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(MISSING), reason=f"not on this machine: {', '.join(MISSING)}")]
BEFORE = "2023-05-22T20:20:04Z|ELSE"
BUTTON = "[...document.querySelectorAll('button')].find(each => each.innerText.startsWith('{}') && !each.disabled)"
FILTER = 'input[placeholder="Filter partitions"]'
ALL = "[...document.querySelectorAll('label')].find(each => each.innerText.startsWith('Select all (2)'))"


@pytest.fixture
def lake(tmp_path):
    return fill(tmp_path / "lake")


@pytest.fixture
def instance(root, tmp_path, monkeypatch, lake):
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(root / "dagster.yaml", home)
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    with dg.DagsterInstance.get() as instance:
        instance.add_dynamic_partitions("earnings_events", [BEFORE])
        register(instance, events(lake))
        yield instance


@pytest.fixture
def url(root, lake, instance):
    """The address of a UI started like `make ui`."""
    port = free_port()
    command = [Path(sys.executable).with_name("dg"), "dev", "--workspace", "workspace.yaml", "--port", str(port)]
    environment = os.environ | {"PITLAKE_LAKE": lake.location, "VIRTUAL_ENV": sys.prefix}
    with subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as ui:
        url = f"http://127.0.0.1:{port}"
        while ui.poll() is None:
            with suppress(OSError), urllib.request.urlopen(f"{url}/server_info", timeout=5):
                break
            time.sleep(0.2)
        yield url
        ui.terminate()


def press(browser, text):
    browser.until(f"const button = {BUTTON.format(text)}; button?.click(); return Boolean(button)")


def test_releases_can_be_selected_by_year_and_built_in_a_single_run(instance, lake, url):
    with browsing() as browser:
        browser.go(f"{url}/assets/earnings_snapshots?view=partitions")
        browser.until("return document.body.innerText.includes('3 Partitions Selected')")
        press(browser, "Materialize")
        press(browser, "Confirm")  # Dagster did not fill this lake, so it warns of missing inputs.
        browser.until("return document.querySelector('[class*=TagSelector_placeholder]') !== null")
        browser.click("[class*=TagSelector_placeholder]")
        browser.until(f"return document.querySelector('{FILTER}') !== null")
        browser.type(FILTER, "2024-")
        browser.until(f"const all = {ALL}; all?.querySelector('input').click(); return Boolean(all)")
        press(browser, "Launch backfill")
        while not any(run.is_finished for run in instance.get_runs()):
            time.sleep(0.5)
    assert [run.status for run in instance.get_runs()] == [dg.DagsterRunStatus.SUCCESS]
    built = instance.get_materialized_partitions(dg.AssetKey("earnings_snapshots"))
    assert built == {event.key for event in events(lake)}
