"""A user's file next to a script never replaces a library in the sealed process. The script's error shows the file."""

import subprocess
import sys

from tests.cli.conftest import BETWEEN, lake

__all__ = ["lake"]
ASK = """
import pitlake
with pitlake.connect({as_of!r}, lake={lake!r}, datasets=["news"]) as session:
    print(session.sql("SELECT count(*) FROM news").rows())
"""
ONLY_HERE = "import sys\nif sys.flags.isolated:\n    raise RuntimeError('not the library')\n"


def test_a_user_file_named_like_a_standard_module_does_not_break_a_session(lake, tmp_path):
    (tmp_path / "html.py").write_text(ONLY_HERE)
    message = asked(tmp_path, lake)
    assert (message.returncode, message.stdout.strip()) == (0, "[(2,)]"), message.stderr


def test_the_error_names_a_user_file_that_shadows_a_library(lake, tmp_path):
    (tmp_path / "pyarrow.py").write_text("raise RuntimeError('mine')")
    answer = asked(tmp_path, lake)
    assert answer.returncode != 0
    assert str(tmp_path / "pyarrow.py") in answer.stderr
    assert "in_process" not in answer.stderr


def asked(folder, lake):
    script = folder / "ask.py"
    script.write_text(ASK.format(as_of=BETWEEN, lake=str(lake)))
    return subprocess.run([sys.executable, str(script)], cwd=folder, capture_output=True, text=True, check=False)
