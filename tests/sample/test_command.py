"""Inputs that `python -m sample` refuses."""

import pytest

from sample.__main__ import main


@pytest.mark.parametrize("arguments", [["ten"], ["1", "2"], ["-1"]])
def test_an_invalid_scale_is_refused(arguments, capsys):
    assert main(arguments) == 2
    assert "scale: must be one whole number" in capsys.readouterr().err


def test_a_server_not_started_by_pitlake_is_never_written_to(monkeypatch, capsys):
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    assert main([]) == 2
    assert "is not a server that pitlake started" in capsys.readouterr().err
