"""A naive model: it writes from the prompt, the help pages and the schemas alone, in spellings drawn at random.

It reads fields, words and examples from a page as anyone would, fills them with plausible values, and makes the calls
that a source's page shows. How often that is right at the first try is what it measures.

    python -m tests.forge.naive 100
"""

import asyncio
import json
import random
import re
import sys
import tempfile
from collections import Counter
from datetime import date, timedelta
from functools import partial
from pathlib import Path

from forge.agent.agent import Agent
from forge.core.clock import Simulated
from forge.core.tape import Tape
from forge.memory import Memory
from forge.model import Answer, Call, Results
from forge.model.scripted import Scripted
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import T, article, gdp, quote
from tests.forge.world import BOOK, turn, wrote

KINDS = ("views", "expressions", "observations", "pk", "counterfactuals")
SOURCES = ("economic", "market", "news", "research", "web", "analytics")
FETCHES = 5
_FIELD = re.compile(r"^- (?P<name>\w+)(?P<required>\*?): (?P<form>.*)$", re.MULTILINE)
_INSTRUMENT = re.compile(r"[a-z]+:\w+:[0-9]+[YM](?=[,\n])")
_CALL = re.compile(r"^call: fetch\('(\w+)', (.+)\)$", re.MULTILINE)
WORDS = ("us_growth", "euro_area_credit", "oil_supply", "labour_market", "term_premium")


class Naive:
    """The model of one run. rng: what it draws its values and spellings from."""

    def __init__(self, rng):
        self.rng = rng
        self.pages = {}
        self.plan = [("read", {"path": f"/help/{name}.md"}) for name in (*KINDS, *rng.sample(SOURCES, 3))]
        self.first, self.refused = [], 0

    def answer(self, request):
        """Return the next call: pages first, then records and fetches; what is refused is written once more."""
        self._take(request)
        if not self.plan and "fetches" not in self.pages:
            self.pages["fetches"] = ""
            self.plan = [("write", self.record(kind, request)) for kind in KINDS] + self.fetches()
        if not self.plan:
            return Answer("Done.", (), "stop", "naive-1", 10, 10)
        name, arguments = self.plan.pop(0)
        return Answer("", (Call(name, arguments, "1"),), "tools", "naive-1", 10, 10)

    def _take(self, request):
        last = request.messages[-1]
        if not isinstance(last, Results):
            return
        (result,) = last.returned
        if result.call.name == "read":
            self.pages[result.call.arguments["path"].split("/")[-1].removesuffix(".md")] = result.text
            return
        self.first.append((result.call.arguments.get("path", "fetch"), not result.failed, result))
        self.refused += result.failed

    def fetches(self):
        calls = [call for name in SOURCES if name in self.pages for call in _CALL.findall(self.pages[name])]
        drawn = [self.rng.choice(calls) for _ in range(FETCHES)]
        return [("fetch", {"source": source, "params": json.loads(params)}) for source, params in drawn]

    def record(self, kind, request):
        """Return the arguments of a write: every required field of the page, and some of the others."""
        page = self.pages[kind]
        today = date.fromisoformat(re.search(r"AS OF (\d{4}-\d\d-\d\d)", str(request.messages[0]))[1])
        fields = {}
        for match in _FIELD.finditer(page.partition("## Example")[0]):
            if match["required"] or self.rng.random() < 0.8:
                value = self.value(kind, match["name"], match["form"], today)
                if value is not None:
                    fields[match["name"]] = value
        return {"path": f"/memory/{kind}/new.md", "content": self.spelled(fields)}

    def value(self, kind, name, form, today):
        """Return a plausible value for a field, in some spelling, from what its line on the page says."""
        levels = self.levels(kind)
        by_name = {
            "scenarios": self.scenarios,
            "settles": lambda: self.settles(today),
            "invalidation": self.conditions,
            "factor_exposures": self.exposures,
            "instrument": lambda: self.rng.choice(_INSTRUMENT.findall(self.pages[kind])),
            "status": lambda: self.rng.choice(["draft", "Draft"] if "draft" in form else ["active", "Active"]),
            **dict.fromkeys(("view_id", "view"), lambda: self.rng.choice(["V-001", '"V-001"'])),
            **dict.fromkeys(
                ("adjusts", "exit_reason", "expression", "reference_date", "links"),
                lambda: self.rng.choice(["", "none", "n/a", None]),
            ),
            **{level: partial(levels.get, level) for level in levels},
        }
        by_form = {
            "one of ": self.word,
            "number from 0 to 1": self.share,
            "number": self.number,
            "whole number": lambda _: self.rng.choice(["60", "90", '"30"']),
            "day": lambda _: self.day(today),
            "names, sep": self.names,
        }
        if name in by_name:
            return by_name[name]()
        draw = next((draw for start, draw in by_form.items() if form.startswith(start)), self.words)
        return draw(form)

    def word(self, form):
        word = self.rng.choice(form.removeprefix("one of ").split("; ")[0].split(", "))
        spellings = [word, word.replace("_", " ").capitalize(), f'"{word}"', f"{word}  # as the page has it"]
        return self.rng.choice(spellings)

    def share(self, _form):
        share = self.rng.randint(41, 80)
        return self.rng.choice([f"{share}%", f"{share / 100}", f'"{share}%"', f"{share} %"])

    def number(self, form):
        if "percent of capital" not in form:
            return self.rng.choice(["0", "1.5", "+0.7", "-1", "0.70"])
        share = round(self.rng.uniform(4.0, 5.0), 1)
        return self.rng.choice([f"{share}%", f"{share}", f"{share} percent", f'"{share} %"'])

    def names(self, form):
        names = re.search(r"such as (.*?)(?:\. |$)", form)[1]
        return self.rng.choice([names, f"[{names}]", f"\n- {names}", f'["{names}"]'])

    def words(self, _form):
        word = self.rng.choice(WORDS)
        return self.rng.choice([word, f'"{word}"', f"{word} over 3 months"])

    def levels(self, kind):
        """Return entry, target and stop of a trade: a small distance, on the right sides of each other."""
        if kind != "expressions":
            return {}
        self.drawn = getattr(self, "drawn", None) or self.rng.choice(
            [{"entry_details": "$1,000.50", "target": "1,080", "stop": "$960", "direction": "long"},
             {"entry_details": "92.50", "target": '"88"', "stop": "95.00", "direction": "Short"},
             {"entry_details": "112-16 or better", "target": "'115-00'", "stop": "111-00", "direction": "long"}]
        )  # fmt: skip
        return self.drawn

    def day(self, today):
        day = today + timedelta(days=self.rng.randint(30, 200))
        return self.rng.choice([f"{day}", f'"{day}"', f"{day:%d %B %Y}", f"{day:%Y/%m/%d}", f"{day:%B %d, %Y}"])

    def scenarios(self):
        share = self.rng.choice((60, 70, 55))
        pairs = [("soft", share), ("hard", 100 - share)]
        return self.rng.choice(
            [
                json.dumps([{"name": name, "probability": part / 100} for name, part in pairs]),
                "".join(f"\n  - name: {name}\n    probability: {part}%" for name, part in pairs),
                "".join(f"\n- {name}: {part}%" for name, part in pairs),
                "".join(f"\n  {name}: {part / 100}" for name, part in pairs),
                ", ".join(f"{name}: {part}%" for name, part in pairs),
                json.dumps([{"name": name, "probability": part / 100} for name, part in pairs], indent=2),
            ]
        )

    def settles(self, today):
        by = self.day(today).strip('"')
        rule = self.rng.choice(["value < 17,000", "value<2.5", "value >= 1.0", "value > 17000.5"])
        text = json.dumps({"query": "macro_latest", "params": {"series": ["GDP"]}, "rule": rule, "by": by})
        nested = f'\n  query: macro_latest\n  params:\n    series: [GDP]\n  rule: "{rule}"\n  by: {by}'
        return self.rng.choice([text, nested, json.dumps(json.loads(text), indent=2)])

    def conditions(self):
        return self.rng.choice(
            ["core inflation above 3%", "\n- core inflation above 3%\n- payrolls fall two months running",
             '[{"condition": "orders rise"}]', '["orders rise", "claims fall"]']
        )  # fmt: skip

    def exposures(self):
        return self.rng.choice(['{"rates": 5.0}', "rates: 5%", "\n  rates: 5\n  equity: -2", "{rates: 5, equity: -2}"])

    def spelled(self, fields):
        """Return a record's text in one of the forms that models give texts in."""
        rng = self.rng
        form = rng.choice(["{}: {}", "{}: {}", "{}: {}", "**{}:** {}", "**{}**: {}", "- {}: {}"])
        names = rng.choice([str, str, str.capitalize, lambda name: name.replace("_", " ")])
        lines = [form.format(names(name), value).rstrip() for name, value in fields.items()]
        body = rng.choice(["## SUMMARY\n\nOrders fell.", "**SUMMARY**\nOrders fell.", "SUMMARY: orders fell.", ""])
        title = rng.choice(["# new\n", "# new\n", "# new\n\n", "# Growth slows\n", "", "---\n", "---\nid: new\n"])
        end = "\n" if body.startswith("##") and rng.random() < 0.3 else "\n---\n"
        text = title + "\n".join(lines) + f"{end}\n{body}\n"
        return f"```yaml\n{text}```" if rng.random() < 0.1 else text


def market(root):
    """A lake with a little of everything, public before the instant."""
    lake = Lake(root / "lake")
    earlier = (
        {**gdp("2014-04-30", 17000.0 + year), "observation_date": date(year, 1, 1)} for year in range(2009, 2014)
    )
    put_rows(lake, "macro_observations", *earlier, gdp("2014-05-29", 17101.3))
    put_rows(lake, "market_quotes", quote("1Y", 1.0), quote("2Y", 2.0))
    put_rows(lake, "news", article(1, "Fed raises rates"))
    return lake


def run(seed, lake, root):
    """Let a naive model decide once. Return what it tried first and how many of its calls were refused."""
    memory = Memory(root / "forge", clock=Simulated(f"naive-{seed}", T))
    wrote(turn(memory, "pm", actor="pm"), "/portfolio/state.md", BOOK, "book")
    naive = Naive(random.Random(f"naive/{seed}"))
    model = Scripted(naive.answer)
    agent = Agent(memory, Tape(root / "tape.sqlite"), lambda role: model, lake.root)
    memory.journal.clock.move(T + timedelta(seconds=1))
    decided = asyncio.run(agent.ask("Write what you think of growth.", T + timedelta(seconds=1)))
    memory.close()
    assert decided.answer == "Done.", decided.answer
    return naive


def measure(runs, first=0):
    """Return the share of calls that were right at the first try, refused calls a decision, and what was refused."""
    right, refused, reasons = Counter(), 0, []
    with tempfile.TemporaryDirectory() as folder:
        lake = market(Path(folder))
        for seed in range(first, first + runs):
            naive = run(seed, lake, Path(tempfile.mkdtemp(dir=folder)))
            refused += naive.refused
            for path, ok, result in naive.first:
                right[path, ok] += 1
                if not ok:
                    reasons.append(f"{seed}: {result.call.arguments}\n    {result.text}")
    total = sum(right.values())
    return sum(count for (_, ok), count in right.items() if ok) / total, refused / runs, reasons


if __name__ == "__main__":
    share, refused, reasons = measure(int(sys.argv[1]) if sys.argv[1:] else 100)
    print(*reasons, sep="\n")
    print(f"right at the first try: {share:.1%}; refused calls a decision: {refused:.2f}")
