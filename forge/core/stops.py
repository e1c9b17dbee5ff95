"""Requests to stop: a file next to a tape, which the process that works on a decision or a backtest looks for."""

from pathlib import Path

from forge.core.tape import Tape, digest


def request_stop(tape: Tape, name: str, reason: str) -> None:
    """Ask for a stop before the next request to a model. name: of a decision, or of the tape's backtest."""
    file = _file(tape, name)
    file.parent.mkdir(exist_ok=True)
    draft = file.with_suffix(".new")
    draft.write_text(reason, encoding="utf-8")
    draft.replace(file)


def stop_reason(tape: Tape, name: str) -> str:
    """Return why a stop was asked for, or ""."""
    try:
        return _file(tape, name).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


def forget_stop(tape: Tape, name: str) -> None:
    """Forget an earlier request, as when a backtest is started again."""
    _file(tape, name).unlink(missing_ok=True)


def _file(tape: Tape, name: str) -> Path:
    return tape.place.with_name(f"{tape.place.name}-stops") / digest(name)
