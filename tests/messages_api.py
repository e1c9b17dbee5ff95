"""A model server on the loopback with scripted responses. It records the requests."""

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from pydantic_ai import models


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.server.keys.append(str(self.headers))
        script = self.server.script
        if callable(script):
            status, body, seconds = script(self.server.asked[-1])
        else:
            status, body, seconds = script.pop(0) if len(script) > 1 else script[0]
        time.sleep(seconds)
        self.send_response(status)
        kind = "text/event-stream" if status == 200 else "application/json"
        for name, value in (("content-type", kind), ("content-length", len(body.encode())), ("retry-after-ms", 5)):
            self.send_header(name, str(value))
        self.end_headers()
        try:
            self.wfile.write(body.encode())
        except OSError:
            self.close_connection = True

    def log_message(self, *_):
        pass


@contextmanager
def messages_api():
    """Yield a server. script: its responses as (status, body, seconds), the last of which is repeated, or a function of
    the request. asked, keys: the bodies and headers that it received.
    """
    outcome = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    outcome.asked, outcome.keys, outcome.script = [], [], []
    thread = threading.Thread(target=outcome.serve_forever)
    thread.start()
    with models.override_allow_model_requests(True):
        yield outcome
    outcome.shutdown()
    thread.join()
    outcome.server_close()
