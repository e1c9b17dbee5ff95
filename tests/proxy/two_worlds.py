"""Answers in two worlds that differ after the cut-off: the second also has later items, with every format of a time.

`python -m tests.proxy.two_worlds FOLDER` takes real JSON answers, of which nothing is later than now, and counts the
items that only their other members make undated.
"""

import argparse
import json
import random
import sys
import tomllib
from collections import Counter
from pathlib import Path

from pitlake import clock
from pitlake.clock import instant
from pitlake.proxy.cutting import cut_answer, publication
from pitlake.proxy.learn import draft
from pitlake.proxy.policy import from_members
from pitlake.proxy.times import Undated, published
from tests.proxy.spellings import later_and_earlier, true_values
from tests.proxy.worlds import AS_OF
from tests.tally import Tally

CANARY, ANSWERS = "CANARY", 10
T = instant(AS_OF)
SHAPES = {
    "list": ({"items": "[]"}, lambda items: items),
    "results": ({"items": "data.results[]"}, lambda items: {"data": {"results": items}}),
    "blocks": ({"items": "[]", "answer": "json_blocks"}, lambda items: items),
    "keyed": ({"items": "bars.{symbol}[]"}, lambda items: {"bars": {"AAPL": items}}),
    "one": ({"items": ""}, lambda items: items[-1] if items else {"error": "there is none"}),
}


def answer_of(shape, items):
    """Return an MCP answer in one of the shapes."""
    document = SHAPES[shape][1](items)
    texts = [json.dumps(part) for part in (document if shape == "blocks" else [document])]
    return {"content": [{"type": "text", "text": text} for text in texts]}


def generated(chance):
    """Return a random shape of answers, its policy, and items up to the cut-off."""
    shape = chance.choice(sorted(SHAPES))
    policy = from_members(
        SHAPES[shape][0] | {"published": ["at"], "fields": ["id", "title"], "key": "id", "timezone": "UTC"}
    )
    items = []
    for number in range(chance.randint(0, 4)):
        _, earlier = later_and_earlier(chance)
        name, value = chance.choice(true_values(earlier))
        items.append({"id": number, "title": f"calm {number}", "at": f"{earlier:%Y-%m-%dT%H:%M:%SZ}", name: value})
    return shape, policy, items


def compare(count, seed):
    """Compare this many answers in each format. Return the comparisons, planted bytes, differing rows and gaps."""
    chance = random.Random(seed)
    compared = planted = rows = kinds = 0
    for _ in range(count):
        shape, policy, items = generated(chance)
        first = cut_answer(answer_of(shape, items), policy, T, name="n").envelope(T)
        later, earlier = later_and_earlier(chance)
        for name, value in true_values(later):
            item = {"id": CANARY, "title": CANARY, "at": f"{earlier:%Y-%m-%dT%H:%M:%SZ}", name: value}
            future = [item] * chance.randint(1, 5) if shape != "one" else [item]
            place = chance.randint(0, len(items))
            both = [*items[:place], *future, *items[place:]] if shape != "one" else [*items, *future]
            expected = first if shape != "one" else cut_answer(answer_of("one", []), policy, T, name="n").envelope(T)
            second = cut_answer(answer_of(shape, both), policy, T, name="n").envelope(T)
            compared += 1
            planted += len(CANARY) * json.dumps(second).count(CANARY)
            rows += len(second["data"]) != len(expected["data"])
            kinds += second["gaps"] != expected["gaps"]
    return compared, planted, rows, kinds


def real_answers(folder, most, chance):
    """Yield parts of real answers, each with the policy drafted from its answer."""
    for path in sorted(Path(folder).rglob("*.json")):
        try:
            whole = json.loads(path.read_text())
        except ValueError:
            continue
        text = draft(
            [{"name": "real", "schema": {}}], [("real", {"content": [{"type": "text", "text": json.dumps(whole)}]})]
        )
        members = tomllib.loads(text).get("tools", {}).get("real")
        if members is None:
            continue
        policy = from_members(members)
        items = [{**item, **keys} for item, keys in policy.item_place.items(whole) if isinstance(item, dict)]
        for _ in range(most):
            yield path.name, policy, chance.sample(items, min(len(items), 20))


def additional_gaps(folder, seed):
    """Return the numbers of answers and of items with a readable publication, and the items that are still undated."""
    answers, items_count, undated = 0, 0, []
    for name, policy, items in real_answers(folder, 10, random.Random(seed)):
        answers += 1
        for item in items:
            try:
                for place in policy.published_places:
                    published(place.first(item), policy.format, policy.zone)
            except Undated:
                continue
            items_count += 1
            try:
                publication(item, policy)
            except Undated:
                undated.append((name, item))
    return answers, items_count, undated


def share(seed, _folder):
    """Compare some answers in the two worlds."""
    compared, planted, rows, kinds = compare(ANSWERS, seed)
    counts = Counter({"planted bytes": planted, "numbers of rows": rows, "kinds of gap": kinds})
    return Tally(compared, counts=counts, failures=[f"seed {seed}: {+counts}"] if +counts else [])


def main():
    """Print how many items of real answers become gaps although their publication can be read."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("answers", help="a folder of answers as JSON files")
    options.add_argument("--seed", type=int, default=0)
    inputs = options.parse_args()
    answers, items, undated = additional_gaps(inputs.answers, inputs.seed)
    line = f"{answers} answers until {clock.iso(clock.now())}, {items} items, {len(undated)} additional gaps\n"
    sys.stdout.write(line + "".join(f"{name}: {str(item)[:300]}\n" for name, item in dict(undated).items()))


if __name__ == "__main__":
    main()
