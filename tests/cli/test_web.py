"""`pitlake web` prints its address and token, answers requests, and ends when interrupted."""

import re
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

from pitlake import cli
from pitlake.lake.lake import Lake
from tests.cli.conftest import CREATED, ROOT, article
from tests.kit import publish


@pytest.mark.parametrize(
    ("options", "first", "title"),
    [(("--ticker", "A"), r"/at\?as_of=2024-05-29T21%3A00%3A00Z&ticker=A", b"Time machine"),
     ((), r"/companies\?as_of=2024-05-29T21%3A00%3A00Z", b"Companies")],
    ids=["a company", "all companies"],
)  # fmt: skip
def test_web_serves_until_interrupted(tmp_path, options, first, title):
    root = Lake(tmp_path / "lake").root
    publish(Lake(root), "news", [article(1, "Title", CREATED)], "run")
    line = [sys.executable, "-m", "pitlake", "web", "--lake", str(root), "--port", "0", "--isolation", "in_process"]
    line += ["--as-of", "2024-05-29T17:00:00-04:00", *options]
    with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as serving:
        address = serving.stdout.readline().strip()
        assert re.fullmatch(rf"http://127\.0\.0\.1:\d+{first}", address)
        assert re.search(r"/unlock with the token \S{20,}$", serving.stderr.readline().strip())
        with urlopen(address, timeout=60) as answer:
            assert answer.status == 200
            assert title in answer.read()
        serving.send_signal(signal.SIGINT)
        assert serving.wait(timeout=60) in (0, 130)
        assert "Traceback" not in serving.stderr.read()


@pytest.mark.parametrize(
    ("options", "reply"),
    [
        (("--as-of", "2999-01-01T00:00:00Z"), "as_of: is in the future"),
        (("--ticker", "no ticker"), "ticker: 'NO TICKER' is not a ticker; give letters, digits"),
        (("--host", "0.0.0.0"), "--host: reachable from other machines"),
        (("--host", "203.0.113.1", "--allow-host", "x"), "can't listen"),
        (("--lake", "/nowhere"), "/nowhere"),
    ],
)
def test_web_refuses_invalid_options_with_one_line(capsys, tmp_path, options, reply):
    publish(Lake(tmp_path / "lake"), "news", [article(1, "Title", CREATED)], "run")
    assert cli.invoke(["web", "--lake", str(tmp_path / "lake"), *options]) in (1, 2)
    err = capsys.readouterr().err
    assert reply in err
    assert err.count("\n") == 1
