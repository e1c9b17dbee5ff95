"""The masked arm: names, tickers and years replaced in everything a model reads, and put back in what it says.

What a run decides differently under it, it did not decide by the data. Years move by 28, after which days of the week
and leap years are the same; a number that looks like a year moves too. Tickers of one letter are replaced only where
they stand in quotes. Masking is one to one, so that what the tape keeps is what the tools were really asked.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from itertools import count
from pathlib import Path

from forge.model import Model
from forge.model.messages import Answer, Message, Request, Results
from pitlake.clock import now
from pitlake.session import connect

YEARS, FIRST, CENTURIES = 28, 1900, 200
_YEAR = re.compile(
    r"(?:(?<=FY)|(?<=CY)|(?<![\w.,]))((?:19|20)[0-9]{2})(?=(?:[01][0-9][0-3][0-9])?(?:[TQ][0-9]|(?![\w]|[.,][0-9])))"
)
_FORMS = re.compile(
    r"[,.]? (?:Inc|Incorporated|Corp|Corporation|Co|Company|Ltd|Limited|PLC|plc|LLC|Holdings?|Group)\b\.?"
)
LEAST_NAME = 4


@dataclass(frozen=True)
class Mask:
    """words: what is replaced, to what stands for it; each of both is there once."""

    words: Mapping[str, str]

    def hide(self, text: str) -> str:
        """What a model may read."""
        if lone := self.words.get(f'"{text}"'):
            return lone.strip('"')
        return _years(_replaced(text, self._hidden, self.words), YEARS)

    def show(self, text: str) -> str:
        """What it meant."""
        return _replaced(_years(text, -YEARS), self._shown, self._back)

    @cached_property
    def _hidden(self) -> re.Pattern[str]:
        return _any_of(self.words)

    @cached_property
    def _shown(self) -> re.Pattern[str]:
        return _any_of(self._back)

    @cached_property
    def _back(self) -> dict[str, str]:
        return {there.strip('"'): here.strip('"') for here, there in self.words.items()}


@dataclass(frozen=True)
class Masked:
    """A model that reads and speaks through a mask."""

    model: Model
    mask: Mask

    @property
    def id(self) -> str:
        """The model's."""
        return self.model.id

    async def ask(self, request: Request) -> Answer:
        """Its answer, unmasked. Raises ModelFailed."""
        messages = tuple(self._hidden(one) for one in request.messages)
        answer = await self.model.ask(replace(request, system=self.mask.hide(request.system), messages=messages))
        return _told(answer, self.mask.show)

    def _hidden(self, message: Message) -> Message:
        if isinstance(message, str):
            return self.mask.hide(message)
        if isinstance(message, Answer):
            return _told(message, self.mask.hide)
        returned = (
            replace(one, text=self.mask.hide(one.text), call=_told(Answer("", (one.call,)), self.mask.hide).calls[0])
            for one in message.returned
        )
        return Results(tuple(returned))


def masked(models: Callable[[str], Model], mask: Mask) -> Callable[[str], Model]:
    """The same models, all of them behind a mask."""
    return lambda role: Masked(models(role), mask)


def mask_of(lake: str | Path, version: int) -> Mask:
    """A mask of every company that a version of the lake knows by now. Raises what connect raises."""
    with connect(now() - timedelta(seconds=1), version=version, lake=lake, datasets=["companies"]) as session:
        found = session.sql("SELECT DISTINCT ticker, name FROM companies ORDER BY ticker").rows()
    return mask_for([(str(ticker), str(name or "")) for ticker, name in found])


def mask_for(companies: Iterable[tuple[str, str]]) -> Mask:
    """A mask of tickers and names."""
    told = list(companies)
    real, words = {ticker for ticker, _ in told}, dict[str, str]()
    fresh = (f"Q{_letters(number)}Z" for number in count())
    for number, (ticker, name) in enumerate(told, start=1):
        made = next(one for one in fresh if one not in real)
        words[ticker if len(ticker) > 1 else f'"{ticker}"'] = made if len(ticker) > 1 else f'"{made}"'
        for place, known in enumerate(dict.fromkeys((name, _FORMS.sub("", name)))):
            if len(known) >= LEAST_NAME and known not in words:
                words[known] = f"Firm {number:04d}{' Incorporated' if place == 0 else ''}"
    return Mask(words)


def _told(answer: Answer, change: Callable[[str], str]) -> Answer:
    calls = tuple(replace(one, arguments=_changed(one.arguments, change)) for one in answer.calls)
    return replace(answer, text=change(answer.text), calls=calls)


def _changed(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _changed(one, change) for name, one in value.items()}
    return [_changed(one, change) for one in value] if isinstance(value, list) else value


def _years(text: str, by: int) -> str:
    return _YEAR.sub(lambda found: str((int(found[1]) - FIRST + by) % CENTURIES + FIRST), text)


def _replaced(text: str, words: re.Pattern[str], into: Mapping[str, str]) -> str:
    return words.sub(lambda found: into[found[0]], text) if into else text


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    longest = sorted(words, key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in longest))


def _letters(number: int) -> str:
    return "".join(chr(ord("A") + number // 26**place % 26) for place in (2, 1, 0))
