"""Requests to stop: a file next to a tape. The process that runs a decision or a backtest checks for this file."""

from pathlib import Path

from forge.core.tape import Tape
from pitlake.recorder import digest, write_whole


def request_stop(tape: Tape, name: str, reason: str) -> None:
    """Request a stop before the next request to a model. name: the name of a decision, or of the tape's backtest."""
    file = _file(tape, name)
    file.parent.mkdir(exist_ok=True)
    write_whole(file, reason.encode())


def stop_reason(tape: Tape, name: str) -> str:
    """Return the reason of a requested stop, or ""."""
    try:
        return _file(tape, name).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def forget_stop(tape: Tape, name: str) -> None:
    """Remove an earlier request, for example when a backtest is started again."""
    _file(tape, name).unlink(missing_ok=True)


def _file(tape: Tape, name: str) -> Path:
    return tape.place.with_name(f"{tape.place.name}-stops") / digest(name)
