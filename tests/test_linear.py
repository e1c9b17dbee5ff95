"""Parsers and patterns take time proportional to the length of their input, even if it is hostile."""

import time
from contextlib import suppress

import pytest

from assets.external.sec_edgar import _headers
from forge.agent.tasks import figures
from forge.fs import query as forge_query
from pipelines.fetch import asking
from pitlake import aliases
from pitlake.errors import PitlakeError
from pitlake.gate import rules
from pitlake.questions import parameters, searches
from pitlake.web import address as web

SIZE = 200_000
PUMPS = ("\\", "\\u", "a", "1", " ", "\n", "A: ", '"', "[", "{", '{"a":', ",", "-", "(", "/*", "%", "1,", "a=", "AND ")


def spell(kind):
    return lambda text: parameters.spell(kind, "field", text)


READERS = {
    "gate": rules._spells_a_forbidden_key,
    "header": _headers.conformed_names,
    "header lines": lambda text: _headers.conformed_names("A:q" + text + "!"),
    "aliases": aliases.meant,
    "search": searches.find,
    "within": lambda text: searches.find("x", within=text),
    **{kind: spell(kind) for kind in parameters.TYPES},
    "page": lambda text: web.parse_address({"as_of": text, "ticker": text}),
    "page's ticker": lambda text: web.parse_address({"as_of": "2024-05-22T16:30:00-04:00", "ticker": text}),
    "page's day": lambda text: web.settled({"as_of": "2024-05-22T16:30:00-04:00", "day": text}),
    "fetch": lambda text: asking.read({"source": "benzinga", "query": [text], "tickers": text, "pit": text}),
    "fetch's words": lambda text: asking.read({"limit": text}, [f"query={text}"]),
    "figures": figures._FIGURE.findall,
    "names": figures._NAMES.findall,
    "forge's query": forge_query._WORD.fullmatch,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", READERS)
def test_long_texts_are_read_in_linear_time(name):
    for pump in PUMPS:
        text = pump * (SIZE // len(pump))
        before = time.thread_time()
        with suppress(PitlakeError, asking.NotAsked):
            READERS[name](text)
        assert time.thread_time() - before < 1, f"{pump!r}"
