"""A separate object store on the loopback: moto's server, in another process, with one empty bucket."""

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

SERVER = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
BUCKET = "lakes"


@contextmanager
def object_store() -> Iterator[str]:
    """Start an object store, and yield its URL."""
    command = [sys.executable, "-c", SERVER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        urllib.request.urlopen(urllib.request.Request(f"{url}/{BUCKET}", method="PUT")).close()
        yield url
        server.stdin.close()


def settings(url: str) -> dict[str, str]:
    """Return the environment variables for a lake in the store."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "S3cretS3cret",
        "AWS_REGION": "us-east-1",
    }
