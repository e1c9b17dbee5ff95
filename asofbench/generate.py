"""All cases from a seed, as case.jsonl per class, with their hashes; and the hashes that are frozen in the tree.

A score counts only while cases and graders are what FROZEN.json says: `differences` tells what is not.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

from asofbench import attacks, classes, large
from asofbench.model import Case, Dice
from asofbench.setting import NEW_YORK, Setting, World
from asofbench.shapes import BY_NAME, EVERYWHERE

SEED = "2026-11-23"
HERE = Path(__file__).parent
FROZEN = HERE / "FROZEN.json"
GRADERS = (
    "attacks.py", "classes.py", "generate.py", "grading.py", "large.py", "model.py", "reading.py", "remains.py",
    "setting.py", "shapes.py",
)  # fmt: skip
GAPS = (timedelta(microseconds=1), timedelta(seconds=1), timedelta(minutes=90), timedelta(hours=26))
FILLINGS = 8
HISTORIES = 64
_TEXTS = ("filings", "news", "calls", "memory")
_FIGURES = ("fundamentals", "filings", "macro", "estimates")

LOADER = frozenset({
    "edited_text", "date_only", "naive_eastern", "start_stamped", "midnight_stamped", "relative_columns",
    "derived_summary", "outcome_columns", "todays_universe", "todays_identifier", "snapshot_endpoint", "late_split",
})  # fmt: skip
"""Classes that a loader decides: a store that only compares stamps is right in them if its loader reads carefully."""

CLASSES: dict[str, tuple[Callable[[Setting], Case], tuple[str, ...]]] = {
    "late_publication": (classes.late_publication, EVERYWHERE),
    "restatement": (classes.restatement, EVERYWHERE),
    "edited_text": (classes.edited_text, _TEXTS),
    "undated": (classes.undated, EVERYWHERE),
    "date_only": (classes.date_only, ("fundamentals", "filings", "news", "macro")),
    "naive_eastern": (classes.naive_eastern, ("news", "calls", "bars", "macro")),
    "start_stamped": (classes.start_stamped, ("calls", "bars")),
    "honest_backfill": (classes.honest_backfill, EVERYWHERE),
    "back_dated": (classes.back_dated, ("fundamentals", "filings", "news", "estimates")),
    "vendor_rewrite": (classes.vendor_rewrite, EVERYWHERE),
    "relative_columns": (classes.relative_columns, _FIGURES),
    "derived_summary": (classes.derived_summary, ("fundamentals", "news", "bars", "estimates")),
    "outcome_columns": (classes.outcome_columns, ("news", "calls", "bars", "memory")),
    "survivorship": (classes.survivorship, ("fundamentals", "filings", "bars", "estimates")),
    "todays_universe": (classes.todays_universe, ("fundamentals", "filings", "bars", "estimates")),
    "todays_identifier": (classes.todays_identifier, ("fundamentals", "news", "bars", "estimates")),
    "snapshot_endpoint": (classes.snapshot_endpoint, ("fundamentals", "bars", "macro", "estimates")),
    "split_adjusted": (classes.split_adjusted, ("bars", "estimates")),
    "event_time_join": (classes.event_time_join, ("fundamentals", "news", "macro", "estimates")),
    "later_memory": (classes.later_memory, ("memory",)),
    "search_statistics": (classes.search_statistics, _TEXTS),
    "midnight_stamped": (classes.midnight_stamped, ("fundamentals", "filings", "news", "macro")),
    "any_order": (classes.any_order, EVERYWHERE),
    "two_bounds": (classes.two_bounds, EVERYWHERE),
    "replay": (classes.replay, EVERYWHERE),
    "late_split": (classes.late_split, ("fundamentals", "filings", "bars", "estimates")),
    "retraction": (classes.retraction, EVERYWHERE),
    "erasure": (classes.erasure, EVERYWHERE),
    "random_history": (classes.random_history, EVERYWHERE),
    "forgotten_cutoff": (attacks.forgotten_cutoff, EVERYWHERE),
    "missing_time": (attacks.missing_time, EVERYWHERE),
    "machine_clock": (attacks.machine_clock, EVERYWHERE),
    "catalogue_listing": (attacks.catalogue_listing, EVERYWHERE),
    "file_statistics": (attacks.file_statistics, EVERYWHERE),
    "row_counts": (attacks.row_counts, EVERYWHERE),
    "error_text": (attacks.error_text, EVERYWHERE),
    "sql_escape": (attacks.sql_escape, EVERYWHERE),
    "hostile_session": (attacks.hostile_session, EVERYWHERE),
}
GROUPS = ("store", "loader", "door", "clock")
"""What decides a class: how a store dates and keeps rows, how a loader reads stamps, what a door shows, its clock."""


def group(name: str) -> str:
    """Which of GROUPS decides a class."""
    if CLASSES[name][0].__module__ == attacks.__name__:
        return "clock" if name == "machine_clock" else "door"
    return "loader" if name in LOADER else "store"


def worlds(seed: str) -> list[World]:
    """A world for each source's shape, with one of four distances of the future. T is on a weekday, 10:00 to 14:59."""
    found = []
    for place, shape in enumerate(BY_NAME.values()):
        dice = Dice(seed, ("world", shape.name))
        day = date(2024, 2, 1) + timedelta(days=dice.number(0, 600, "day"))
        day -= timedelta(days=max(0, day.weekday() - 4))
        clock = {name: dice.number(low, high, name) for name, low, high in _CLOCK}
        at = datetime(day.year, day.month, day.day, **clock, tzinfo=NEW_YORK)
        found.append(World(shape.name, shape, at, GAPS[place % len(GAPS)]))
    return found


_CLOCK = (("hour", 10, 14), ("minute", 0, 59), ("second", 0, 59), ("microsecond", 0, 999_998))


def cases(seed: str = SEED) -> list[Case]:
    """Every case, spread evenly over the worlds of its class's sources: FILLINGS of a class, HISTORIES by chance."""
    made, everywhere = [], worlds(seed)
    for name, (build, shapes) in CLASSES.items():
        mine = [world for world in everywhere if world.shape.name in shapes]
        count = HISTORIES if name == "random_history" else FILLINGS
        for number in range(count):
            world = mine[number * len(mine) // count]
            made.append(build(Setting(name, world, number, Dice(seed, (name, str(number))))))
    return made


def lines(seed: str) -> Iterator[tuple[str, str]]:
    """Per class its name and its case.jsonl."""
    found = cases(seed)
    yield large.NAME, large.Large(seed).as_lines()
    for name in CLASSES:
        yield name, "".join(json.dumps(one.as_json(), sort_keys=True) + "\n" for one in found if one.kind == name)


def hashes(seed: str = SEED) -> dict[str, dict[str, str]]:
    """SHA-256 of every class's case.jsonl, and of the files that make and grade them."""
    made = {f"{name}/case.jsonl": _sha(text.encode()) for name, text in lines(seed)}
    return {"cases": made, "graders": {name: _sha((HERE / name).read_bytes()) for name in GRADERS}}


def differences(seed: str = SEED) -> list[str]:
    """What is not as it was frozen; [] where everything is."""
    frozen = json.loads(FROZEN.read_text())
    found = hashes(seed)
    told = [] if frozen["seed"] == seed else [f"seed is {seed}, frozen is {frozen['seed']}"]
    for part, now in found.items():
        told += [f"{part}: {name}" for name in sorted({*now, *frozen[part]}) if now.get(name) != frozen[part].get(name)]
    return told


def freeze(seed: str = SEED) -> None:
    """Write what is to be scored into FROZEN.json."""
    FROZEN.write_text(json.dumps({"seed": seed, **hashes(seed)}, indent=1) + "\n")


def write(folder: Path, seed: str = SEED) -> None:
    """Every class's case.jsonl into a folder of its own."""
    for name, text in lines(seed):
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "case.jsonl").write_text(text)


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
