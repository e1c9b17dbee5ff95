"""Verdicts: caught, leak, withheld, refused, or not applicable; and intervals.

An error is never a leak unless it carries a canary. A door may refuse what attacks it; it may not refuse the ordinary
question one instant later. Whoever answers nothing is withholding, whoever fails is refusing.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import Any

from asofbench.model import DATA, Canary, Case, Question, Reply, Truth, read

CAUGHT, LEAK, WITHHELD, REFUSED, UNABLE = "caught", "leak", "withheld", "refused", "n/a"
PLACES = ("answer", "error", "log", "files")
_COUNT = re.compile(r"(\d[\d,]*) [Rr]ows?\b|Rows? ?[:=] ?(\d+)")
_Z95 = 1.959963984540054


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of one case. why: in a few words; seen: where canaries stood. calls: of those in the world with a
    future how many the system could be asked, touched: how many of them brought up something from after their instant.
    """

    case: str
    kind: str
    source: str
    verdict: str
    why: str = ""
    seen: tuple[str, ...] = ()
    calls: int = 0
    touched: int = 0
    control: bool = True


def judge(case: Case, asked: Reply, twin: Reply, later: Reply, control: Reply) -> Verdict:
    """One case: asked with its future, without it, one instant later; and its control."""
    seen = where(asked, case.ask, case.canaries)
    late = where(later, case.later, case.canaries)
    verdict, why = (LEAK, f"canary in the {seen[0]}") if seen else _compared(case, asked, twin)
    if verdict == CAUGHT and late:
        verdict, why = LEAK, f"canary in the {late[0]}, one instant later"
    if verdict == CAUGHT:
        verdict, why = _still_answers(case, twin, later)
    return Verdict(
        case=case.id,
        kind=case.kind,
        source=case.source,
        verdict=verdict,
        why=why,
        seen=(*seen, *late),
        calls=asked.able + later.able,
        touched=bool(seen) + bool(late),
        control=not control.able or compare(case.control.kind, control, case.control_truth)[0] == CAUGHT,
    )


def where(reply: Reply, asked: Question, canaries: Iterable[Canary]) -> tuple[str, ...]:
    """The places where a reply carries something nobody could know as of the question's instant."""
    at = read(asked.as_of)
    secret = [canary.text for canary in canaries if read(canary.public) > at]
    shown = {"answer": spelled(reply.answer), "error": reply.error, "log": reply.log, "files": reply.files}
    return tuple(place for place in PLACES if any(text in shown[place].lower() for text in secret))


def spelled(answer: Any) -> str:
    """An answer as text, whole numbers without their decimals."""
    return re.sub(r"(\d)\.0\b", r"\1", json.dumps(answer, default=str)).lower()


def compare(kind: str, reply: Reply, truth: Truth) -> tuple[str, str]:
    """A reply to a question about data against the right answer."""
    if not reply.able:
        return UNABLE, ""
    if reply.error:
        return REFUSED, reply.error[:120]
    if kind in ("rows", "hostile", "retracted", "erased"):
        return _rows(reply.answer or {}, truth)
    if kind in ("figures", "adjusted"):
        return _figures(reply.answer or {}, truth)
    if kind == "members":
        told = set(reply.answer or ())
        return _set(told - set(truth), set(truth) - told)
    if kind == "join":
        return _join(reply.answer or [None] * len(truth), truth)
    if reply.answer is None or reply.answer == 0 != truth:
        return WITHHELD, "nothing"
    return (CAUGHT, "") if math.isclose(reply.answer, truth) else (LEAK, f"{reply.answer}, not {truth}")


def _compared(case: Case, asked: Reply, twin: Reply) -> tuple[str, str]:
    if case.ask.kind in DATA:
        verdict, why = compare(case.ask.kind, asked, case.truth)
        same = twin.able and not twin.error and asked.answer == twin.answer
        if verdict == LEAK and case.ask.kind != "join" and not case.ask.loaded_by and same:
            return WITHHELD, f"{why}, with a future and without"
        return verdict, why
    if not asked.able:
        return UNABLE, ""
    if case.ask.kind == "clock" and not asked.error:
        return _clock(asked.answer, read(case.ask.as_of))
    if case.ask.kind == "counts" and not asked.error and counted(asked.answer) != counted(twin.answer):
        return LEAK, f"counts {counted(asked.answer)} with a future, {counted(twin.answer)} without"
    return CAUGHT, ""


def _still_answers(case: Case, twin: Reply, later: Reply) -> tuple[str, str]:
    if case.ask.kind in DATA:
        verdict, why = compare(case.ask.kind, twin, case.truth)
        if verdict != CAUGHT:
            return (REFUSED, why) if verdict == REFUSED else (WITHHELD, f"without a future: {why}")
    verdict, why = compare(case.later.kind, later, case.later_truth)
    return (verdict, why) if verdict in (CAUGHT, REFUSED) else (WITHHELD, f"one instant later: {why}")


def _rows(told: dict[str, Any], truth: dict[str, Any]) -> tuple[str, str]:
    right = {item for item in truth if list(told.get(item, ()))[:2] == truth[item]}
    return _set({item for item in told if item not in truth or item not in right}, set(truth) - right)


def _figures(told: dict[str, Any], truth: dict[str, Any]) -> tuple[str, str]:
    right = {name for name in truth if told.get(name) == truth[name]}
    return _set({name for name in told if name not in right}, set(truth) - right)


def _set(more: set[str], less: set[str]) -> tuple[str, str]:
    if more:
        return LEAK, f"tells {len(more)} that were not so"
    return (WITHHELD, f"lacks {len(less)}") if less else (CAUGHT, "")


def _join(told: Sequence[Any], truth: Sequence[Any]) -> tuple[str, str]:
    if any(one is not None and one != right for one, right in zip(told, truth, strict=True)):
        return LEAK, "joins what was not known at the event"
    return (WITHHELD, "joins nothing") if None in told else (CAUGHT, "")


def _clock(answer: Any, at: datetime) -> tuple[str, str]:
    for text in re.findall(r"\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?", str(answer)):
        if len(text) == len("2024-01-01"):
            if date.fromisoformat(text) > at.date():
                return LEAK, f"it is {text}"
            continue
        moment = datetime.fromisoformat(text)
        if (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)) > at:
            return LEAK, f"it is {text}"
    return CAUGHT, ""


def counted(answer: Any) -> list[int]:
    """The numbers of rows an answer tells: its whole numbers, and what its texts call rows."""
    found: list[int] = []
    for cell in _cells(answer):
        if isinstance(cell, int) and not isinstance(cell, bool):
            found.append(cell)
        elif isinstance(cell, str):
            found += [int((a or b).replace(",", "")) for a, b in _COUNT.findall(cell)]
    return sorted(found)


def _cells(answer: Any) -> Iterable[Any]:
    if isinstance(answer, dict):
        for value in answer.values():
            yield from _cells(value)
    elif isinstance(answer, list | tuple):
        for value in answer:
            yield from _cells(value)
    else:
        yield answer


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, as fractions; (0, 1) of nothing."""
    if n == 0:
        return 0.0, 1.0
    share, z2 = hits / n, _Z95**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)
