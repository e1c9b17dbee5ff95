"""A stand-in for the internet on loopback. Servers reach it as their proxy, and it answers for every host.

It speaks TLS with its own certificate, so that an unmodified server can query its usual addresses.
"""

import ssl
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit


def through(address):
    """Return the environment variables of a process whose requests go through a proxy."""
    proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), address)
    return {**proxies, "NO_PROXY": "", "no_proxy": ""}


@contextmanager
def internet(answers, folder):
    """Yield environment variables that lead a process to these answers (by host and path), and its requests."""
    key, certificate, bundle = (folder / name for name in ("key.pem", "certificate.pem", "bundle.pem"))
    hosts = sorted({address.split("/")[0] for address in answers})
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=stand-in",
         "-addext", "subjectAltName=" + ",".join(f"DNS:{host}" for host in ["localhost", *hosts]),
         "-keyout", key, "-out", certificate], check=True, capture_output=True)  # fmt: skip
    ours = ssl.get_default_verify_paths().cafile
    bundle.write_text(certificate.read_text() + Path(ours).read_text())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    requests = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        host = ""

        def do_CONNECT(self):
            self.send_response(200)
            self.end_headers()
            self.host = self.path.split(":")[0]
            self.close_connection = False
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", buffering=0)

        def finish(self):
            super().finish()
            self.connection.close()

        def do_GET(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            parts = urlsplit(self.path)
            requests.append(f"{self.host or parts.hostname}{parts.path}?{parts.query}")
            body = answers.get(f"{self.host or parts.hostname}{parts.path}")
            self.send_response(404 if body is None else 200)
            self.send_header("content-type", "application/json" if (body or "").startswith(("{", "[")) else "text/xml")
            self.send_header("content-length", str(len((body or "").encode())))
            self.end_headers()
            self.wfile.write((body or "").encode())

        do_POST = do_GET  # noqa: N815 - the name that http.server looks for

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{listener.server_address[1]}"
        bundles = dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), str(bundle))
        yield {**through(address), **bundles}, requests
        listener.shutdown()
