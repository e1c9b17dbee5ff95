import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pydantic_ai import models

from forge.memory import Memory


@pytest.fixture
def memory(tmp_path):
    made = Memory(tmp_path / "forge")
    yield made
    made.close()


@pytest.fixture(autouse=True, scope="session")
def no_model_is_asked():
    """Only the loopback server of the tests is; see `test_anthropic`."""
    models.ALLOW_MODEL_REQUESTS = False


@pytest.fixture
def server():
    """A model's server. script: its answers, as status, body and seconds; asked, keys: what it was told."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.server.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.server.keys.append(str(self.headers))
            status, body, seconds = self.server.script[min(len(self.server.asked), len(self.server.script)) - 1]
            time.sleep(seconds)
            self.send_response(status)
            kind = "text/event-stream" if status == 200 else "application/json"
            for name, value in (("content-type", kind), ("content-length", len(body)), ("retry-after-ms", 5)):
                self.send_header(name, str(value))
            self.end_headers()
            try:
                self.wfile.write(body.encode())
            except OSError:
                self.close_connection = True

        def log_message(self, *_):
            pass

    made = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.asked, made.keys, made.script = [], [], []
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    with models.override_allow_model_requests(True):
        yield made
    made.shutdown()
    thread.join()
    made.server_close()
