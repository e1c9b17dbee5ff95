"""The masked arm: names, tickers and years are replaced in everything a model reads, and restored in what it writes.

A run that decides differently under the mask did not decide by the data alone. Years move by 28, which keeps weekdays
and leap years; a number that looks like a year moves too. One-letter tickers are replaced only in quotes. The mask is
one to one, so that the tape has the tools' real requests.
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
    """A mask. words: original to replacement; both are unique."""

    words: Mapping[str, str]

    def hide(self, text: str) -> str:
        """Mask a text for a model."""
        if lone := self.words.get(f'"{text}"'):
            return lone.strip('"')
        return _shift_years(_replace_words(text, self._hidden, self.words), YEARS)

    def show(self, text: str) -> str:
        """Unmask a model's text."""
        return _replace_words(_shift_years(text, -YEARS), self._shown, self._back)

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
    """A model behind a mask."""

    model: Model
    mask: Mask

    @property
    def id(self) -> str:
        """The model's id."""
        return self.model.id

    async def ask(self, request: Request) -> Answer:
        """Return the model's answer, unmasked. Raises ModelFailed."""
        messages = tuple(self._hidden(message) for message in request.messages)
        answer = await self.model.ask(replace(request, system=self.mask.hide(request.system), messages=messages))
        return _map_answer(answer, self.mask.show)

    def _hidden(self, message: Message) -> Message:
        if isinstance(message, str):
            return self.mask.hide(message)
        if isinstance(message, Answer):
            return _map_answer(message, self.mask.hide)
        returned = (
            replace(
                result,
                text=self.mask.hide(result.text),
                call=_map_answer(Answer("", (result.call,)), self.mask.hide).calls[0],
            )
            for result in message.returned
        )
        return Results(tuple(returned))


def mask_models(models: Callable[[str], Model], mask: Mask) -> Callable[[str], Model]:
    """Return the same models behind a mask."""
    return lambda role: Masked(models(role), mask)


def mask_of(lake: str | Path, version: int) -> Mask:
    """Return a mask of every company in a version of the lake. Raises what connect raises."""
    with connect(now() - timedelta(seconds=1), version=version, lake=lake, datasets=["companies"]) as session:
        rows = session.sql("SELECT DISTINCT ticker, name FROM companies ORDER BY ticker").rows()
    return mask_for([(str(ticker), str(name or "")) for ticker, name in rows])


def mask_for(companies: Iterable[tuple[str, str]]) -> Mask:
    """Return a mask of tickers and names."""
    pairs = list(companies)
    real, words = {ticker for ticker, _ in pairs}, dict[str, str]()
    fresh = (f"Q{_letters(number)}Z" for number in count())
    for number, (ticker, name) in enumerate(pairs, start=1):
        stand_in = next(letters for letters in fresh if letters not in real)
        words[ticker if len(ticker) > 1 else f'"{ticker}"'] = stand_in if len(ticker) > 1 else f'"{stand_in}"'
        for place, spelling in enumerate(dict.fromkeys((name, _FORMS.sub("", name)))):
            if len(spelling) >= LEAST_NAME and spelling not in words:
                words[spelling] = f"Firm {number:04d}{' Incorporated' if place == 0 else ''}"
    return Mask(words)


def _map_answer(answer: Answer, change: Callable[[str], str]) -> Answer:
    calls = tuple(replace(call, arguments=_map_strings(call.arguments, change)) for call in answer.calls)
    return replace(answer, text=change(answer.text), calls=calls)


def _map_strings(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _map_strings(item, change) for name, item in value.items()}
    return [_map_strings(item, change) for item in value] if isinstance(value, list) else value


def _shift_years(text: str, by: int) -> str:
    return _YEAR.sub(lambda match: str((int(match[1]) - FIRST + by) % CENTURIES + FIRST), text)


def _replace_words(text: str, words: re.Pattern[str], into: Mapping[str, str]) -> str:
    return words.sub(lambda match: into[match[0]], text) if into else text


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    longest = sorted(words, key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in longest))


def _letters(number: int) -> str:
    return "".join(chr(ord("A") + number // 26**place % 26) for place in (2, 1, 0))
