"""Debian's Chromium, driven over WebDriver: what a page logs, asks for and shows.

`python -m tests.web.chromium LAKE AXE` looks for faults of accessibility with axe-core, whose script is AXE.
"""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import uvicorn

from pitlake.clock import instant
from pitlake.web.app import Doors, application
from pitlake.web.asked import Asked
from pitlake.web.pool import Pool
from tests.web.browsing import TOKEN

MISSING = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
PHONE, DESKTOP = (390, 844), (1360, 900)
RUN_AXE = """
const done = arguments[0];
axe.run(document).then(told => done(told.violations.map(one => [one.impact, one.id, one.nodes[0].html])));
"""


class Browser:
    """One window. logs: what the console had, and which addresses were asked for, since they were last looked at."""

    def __init__(self, port, size, dark):
        arguments = ["--headless=new", f"--window-size={size[0]},{size[1]}", "--no-first-run", "--disable-extensions"]
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        arguments += ["--force-dark-mode"] if dark else []
        options = {"args": arguments, "mobileEmulation": {"deviceMetrics": {"width": size[0], "height": size[1]}}}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options}
        wanted["goog:loggingPrefs"] = {"browser": "ALL", "performance": "ALL"}
        self._port, self._path = port, "/session"
        self._path = f"/session/{self._ask('POST', '', {'capabilities': {'alwaysMatch': wanted}})['sessionId']}"

    def go(self, address):
        self._ask("POST", "/url", {"url": address})

    @property
    def address(self):
        return self._ask("GET", "/url")

    def back(self):
        self._ask("POST", "/back", {})

    def run(self, script, *, waits=False):
        return self._ask("POST", f"/execute/{'async' if waits else 'sync'}", {"script": script, "args": []})

    def click(self, selector):
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        self._ask("POST", f"/element/{next(iter(found.values()))}/click", {})

    def until(self, script):
        for _ in range(600):
            if told := self.run(script):
                return told
            time.sleep(0.05)
        raise AssertionError(f"never: {script}")

    def console(self):
        return [one["message"] for one in self._ask("POST", "/se/log", {"type": "browser"}) if one["level"] != "INFO"]

    def requests(self):
        events = [
            json.loads(one["message"])["message"] for one in self._ask("POST", "/se/log", {"type": "performance"})
        ]
        return [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]

    def close(self):
        self._ask("DELETE", "")

    def _ask(self, method, path, body=None):
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request(method, self._path + path, None if body is None else json.dumps(body))
        answer = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(answer, dict) and "error" in answer:
            raise AssertionError(f"{answer['error']}: {answer['message']}")
        return answer


@contextmanager
def served(root, rooms=(), isolation="in_process"):
    """The pages on a free port of loopback; their address."""
    pool = Pool(root, isolation)
    app = application(Doors(pool, Asked(instant("2024-04-30T20:00:00Z"), "NOG"), TOKEN, (), rooms))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@contextmanager
def browsing(size=DESKTOP, *, dark=False):
    """A window of a browser of its own."""
    driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
    try:
        line = next(line for line in driver.stdout if "successfully on port" in line)
        browser = Browser(int(line.rsplit("port", 1)[1].strip(" .\n")), size, dark)
        yield browser
        browser.close()
    finally:
        driver.terminate()
        driver.wait()
        driver.stdout.close()


def main(root, axe):
    """Print what axe-core finds on each page in both shapes and colours; the exit code says whether any of it is
    serious.
    """
    serious = 0
    at = Asked(instant("2024-05-29T21:00:00Z"), "NVDA")
    history = "of=xbrl_facts.value_number&k_cik=0001045810&k_concept=us-gaap:Revenues&k_unit=iso4217:USD"
    history += "&k_period_type=duration&k_period_start=2024-01-29&k_period_end=2024-04-28&k_dimensions=&k_members="
    pages = [
        at.address(),
        at.address("/compare", **{"with": "2024-05-22T20:00:00Z"}),
        f"{at.address('/history')}&{history}",
    ]
    pages += [at.address("/ask", question="filings"), "/unlock", "/desk", "/nowhere"]
    from forge.web import room

    with served(root, (room,)) as base:
        for size, dark in ((DESKTOP, False), (DESKTOP, True), (PHONE, False), (PHONE, True)):
            with browsing(size, dark=dark) as browser:
                for page in pages:
                    browser.go(base + page)
                    browser.run(Path(axe).read_text() + "; return 1")
                    for impact, name, place in browser.run(RUN_AXE, waits=True):
                        print(f"{size[0]} {'dark' if dark else 'light'} {page[:30]}: {impact} {name}: {place}")
                        serious += impact in ("serious", "critical")
    print(f"{len(pages)} pages, each light and dark, on a desktop and on a phone: {serious} serious faults")
    return 1 if serious else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
