"""Debian's Chromium, driven over WebDriver: what a page logs, requests and shows."""

import json
import os
import shutil
import subprocess
import threading
import time
from base64 import b64decode
from contextlib import contextmanager
from http.client import HTTPConnection

import uvicorn

from pitlake.clock import instant
from pitlake.web.address import Address
from pitlake.web.app import ServerSettings, application
from pitlake.web.pool import Pool
from tests.web.browsing import TOKEN

MISSING = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
PHONE, DESKTOP = (390, 844), (1280, 900)


class Browser:
    """A browser window. Its logs are the console's messages and the requested addresses since the last call."""

    def __init__(self, port, size, dark):
        arguments = ["--headless=new", f"--window-size={size[0]},{size[1]}", "--no-first-run", "--disable-extensions"]
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        arguments += ["--force-dark-mode"] if dark else []
        options = {"args": arguments, "mobileEmulation": {"deviceMetrics": {"width": size[0], "height": size[1]}}}
        expected = {"browserName": "chrome", "goog:chromeOptions": options}
        expected["goog:loggingPrefs"] = {"browser": "ALL", "performance": "ALL"}
        self._port, self._path = port, "/session"
        self._path = f"/session/{self._ask('POST', '', {'capabilities': {'alwaysMatch': expected}})['sessionId']}"

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
        self._ask("POST", f"{self._element(selector)}/click", {})

    def type(self, selector, text):
        self._ask("POST", f"{self._element(selector)}/value", {"text": text})

    def _element(self, selector):
        element = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        return f"/element/{next(iter(element.values()))}"

    def until(self, script):
        for _ in range(600):
            if reply := self.run(script):
                return reply
            time.sleep(0.05)
        raise AssertionError(f"never: {script}")

    def picture(self, path, tallest):
        """Save the top of the page as a PNG file, at most `tallest` pixels high."""
        wide, high = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": wide, "height": min(high, tallest), "scale": 1}
        question = {"cmd": "Page.captureScreenshot", "params": {"clip": clip, "captureBeyondViewport": True}}
        path.write_bytes(b64decode(self._ask("POST", "/goog/cdp/execute", question)["data"]))

    def console(self):
        return [
            each["message"] for each in self._ask("POST", "/se/log", {"type": "browser"}) if each["level"] != "INFO"
        ]

    def requests(self):
        events = [
            json.loads(each["message"])["message"] for each in self._ask("POST", "/se/log", {"type": "performance"})
        ]
        return [each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent"]

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
def served(root, rooms=()):
    """Serve the pages on a free loopback port, and yield their address."""
    pool = Pool(root, "process")
    app = application(ServerSettings(pool, Address(instant("2024-04-30T20:00:00Z"), "QBG"), TOKEN, (), rooms))
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
    """Open a window of a new browser, and yield it."""
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
