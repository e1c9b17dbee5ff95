"""The masked run: names of companies and times are replaced in a model's input, and restored in its output.

If a run decides differently under the mask, it did not decide by the data alone. The mask replaces names, former names
and tickers of every company in the lake, CIKs, accession numbers, addresses, and years in every format. Years move by
28, which keeps weekdays and leap years. A name that a tool cut off is replaced too. The mask is one-to-one, so that the
tape has the tools' real requests, except that a cut-off name is restored in full. One-letter tickers are replaced only
in quotes.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from forge.model import Model
from forge.model.messages import Answer, Message, Request, Results
from forge.walk.dates import shift_years
from forge.walk.scramble import hide_links, scramble, show_links
from pitlake.clock import now
from pitlake.session import connect

_FORMS = re.compile(
    r"[,.]? (?:Inc|Incorporated|Corp|Corporation|Co|Company|Ltd|Limited|PLC|plc|LLC|Holdings?|Group)\b\.?"
)
_ACCESSION = re.compile(r"(?<![0-9])([0-9]{10})(-?)([0-9]{2})(-?)([0-9]{6})(?![0-9])")
_CUT = re.compile(r"(?=\s*(?:…|\n|\Z|[\"'|)\]]|, \w+=))")
LEAST_NAME, LEAST_CUT = 4, 5
LEAST_CIK = 5
CIK_DIGITS = 10
FIRST_STAND_IN = 9_000_000_000


class Company(NamedTuple):
    """The names of a company. names: the current name first. cik: 10 digits, or ""."""

    tickers: tuple[str, ...]
    names: tuple[str, ...]
    cik: str = ""


@dataclass(frozen=True)
class Mask:
    """A mask. words: original to replacement; both are unique."""

    words: Mapping[str, str]
    _starts: dict[str, list[str]] = field(init=False, default_factory=lambda: defaultdict(list), compare=False)

    def __post_init__(self) -> None:
        for word in self.words:
            if len(word) > LEAST_CUT and word[0].isalpha():
                self._starts[word[:LEAST_CUT]].append(word)

    def hide(self, text: str) -> str:
        if lone := self.words.get(f'"{text}"'):
            return lone.strip('"')
        text = _ACCESSION.sub(lambda match: _accession(match, back=False), hide_links(text))
        text = _replace_words(text, self._hidden, self.words)
        # The start of a name is replaced where text was cut off: at its end, a line's or cell's end, or before `…`.
        parts, done = list[str](), 0
        for cut in _CUT.finditer(text):
            line = text[max(done, text.rfind("\n", 0, cut.start()) + 1) : cut.start()]
            for place in (match.start() for match in re.finditer(r"(?<!\w)\w", line)):
                start = line[place:]
                names = self._starts.get(start[:LEAST_CUT], ())
                if name := next((name for name in names if len(start) < len(name) and name.startswith(start)), None):
                    parts += [text[done : cut.start() - len(start)], self.words[name]]
                    done = cut.start()
                    break
        return shift_years("".join([*parts, text[done:]]))

    def show(self, text: str) -> str:
        """Unmask a model's text."""
        text = _replace_words(shift_years(text, back=True), self._shown, self._back)
        return show_links(_ACCESSION.sub(lambda match: _accession(match, back=True), text))

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
        return self.model.id

    async def ask(self, request: Request) -> Answer:
        """Return the model's answer, unmasked. Raises ModelFailed."""
        messages = tuple(self._hidden(message) for message in request.messages)
        tools = tuple(replace(tool, description=self.mask.hide(tool.description)) for tool in request.tools)
        hidden = replace(request, system=self.mask.hide(request.system), messages=messages, tools=tools)
        return _map_answer(await self.model.ask(hidden), self.mask.show)

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
    return lambda role: Masked(models(role), mask)


def mask_of(lake: str | Path, version: int) -> Mask:
    """Return a mask of every company in a version of the lake. Raises the errors of `connect`."""
    return mask_for(companies_of(lake, version))


def companies_of(lake: str | Path, version: int | None = None) -> list[Company]:
    """Return the current and former names of each company in the lake, by CIK. Raises the errors of `connect`."""
    tickers, names = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    at = now() - timedelta(seconds=1)
    with connect(at, version=version, lake=lake, datasets=["companies", "names"]) as session:
        current = session.sql("SELECT DISTINCT cik, ticker, name FROM companies_revisions ORDER BY ticker, name").rows()
        for cik, ticker, name in current:
            tickers[str(cik or ticker)].append(str(ticker))
            names[str(cik or ticker)].append(str(name or ""))
        statements = session.sql(
            "SELECT cik, kind, all_names FROM names_revisions ORDER BY cik, kind, available_at"
        ).rows()
        for cik, kind, all_names in statements:
            (tickers if kind == "ticker" else names)[str(cik)] += [str(name) for name in all_names or ()]
    keys = dict.fromkeys([*tickers, *names])
    return [
        Company(
            tuple(dict.fromkeys(filter(None, tickers[key]))),
            tuple(dict.fromkeys(filter(None, names[key]))),
            key.zfill(CIK_DIGITS) if key.isdigit() else "",
        )
        for key in keys
    ]


def mask_for(companies: Iterable[Company]) -> Mask:
    every_company, words = list(companies), dict[str, str]()
    real = {ticker for company in every_company for ticker in company.tickers}
    fresh = (letters for number in count() if (letters := f"Q{_letters(number)}Z") not in real)
    for number, company in enumerate(every_company, start=1):
        for ticker in company.tickers:
            stand_in = next(fresh)
            if len(ticker) > 1:
                words.setdefault(ticker, stand_in)
            else:
                words.setdefault(f'"{ticker}"', f'"{stand_in}"')
        spellings = (
            spelling
            for name in company.names
            for form in (name, _FORMS.sub("", name))
            for spelling in (form, form.upper(), form.title())
        )
        fresh_names = (f"Firm {number:04d}{ending.lower()}" for ending in chain([""], map(_letters, count())))
        for spelling in dict.fromkeys(spellings):
            if len(spelling) >= LEAST_NAME and spelling not in words:
                words[spelling] = next(fresh_names)
        if company.cik:
            hidden = f"{FIRST_STAND_IN + number}"
            words.setdefault(company.cik, hidden)
            if len(bare := company.cik.lstrip("0")) >= LEAST_CIK and bare != company.cik:
                words.setdefault(bare, f"8{hidden[1:]}")
    return Mask(words)


def _accession(match: re.Match[str], *, back: bool) -> str:
    """Return a different accession number of the same form."""
    digits = scramble(match[1] + match[3] + match[5], back=back)
    return f"{digits[:10]}{match[2]}{digits[10:12]}{match[4]}{digits[12:]}"


def _map_answer(answer: Answer, change: Callable[[str], str]) -> Answer:
    calls = tuple(replace(call, arguments=_map_strings(call.arguments, change)) for call in answer.calls)
    return replace(answer, text=change(answer.text), calls=calls)


def _map_strings(value: object, change: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: _map_strings(item, change) for name, item in value.items()}
    return [_map_strings(item, change) for item in value] if isinstance(value, list) else value


def _replace_words(text: str, words: re.Pattern[str], into: Mapping[str, str]) -> str:
    return words.sub(lambda match: into[match[0]], text) if into else text


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    longest = sorted(words, key=len, reverse=True)
    return re.compile("|".join(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])" for word in longest))


def _letters(number: int) -> str:
    return "".join(chr(ord("A") + number // 26**place % 26) for place in (2, 1, 0))
