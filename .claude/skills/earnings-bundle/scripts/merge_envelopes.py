#!/usr/bin/env python3
"""Merges the envelopes of several data agents into one, with each revision of an item once and every gap.

`merge` does the work; the command reads `{lane: envelope}` from a file and writes the envelope to stdout. Each lane is
first checked by the lake's rules at the cut-off. The order of the lanes does not matter. Standard library only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "hooks"))

from pit_call import cut_off, rules

Item = dict[str, Any]


def merge(answers: Mapping[str, Any], pit: str | None) -> dict[str, list[Item]]:
    """Merge the lanes' envelopes into one. pit: the cut-off that each envelope must respect; None in open mode.

    Items with the same `evidence` and `available_at` are the same revision: these become one item unless their fields
    contradict each other. Each item names its `lanes`. Newest first.
    """
    items: list[Item] = []
    gaps: dict[str, Item] = {}
    for lane in sorted(answers):
        refused = _refused(answers[lane], pit)
        envelope = {"data": [], "gaps": [refused]} if refused else answers[lane]
        items += [{**item, "lanes": sorted({*_names(item.get("lanes")), lane})} for item in envelope["data"]]
        gaps.update((_canonical(gap), gap) for gap in ({"lane": lane, **gap} for gap in envelope.get("gaps", [])))
    return {"data": sorted(_united(items), key=_newest_first), "gaps": [gaps[key] for key in sorted(gaps)]}


def _refused(answer: Any, pit: str | None) -> Item | None:
    """Return the gap that replaces a lane's answer, or None if the answer is a valid envelope."""
    if answer is None:
        return {"type": "no_data", "reason": "the lane gave no answer"}
    if not isinstance(answer, dict) or not all(
        isinstance(part, list) and all(isinstance(item, dict) for item in part)
        for part in (answer.get("data"), answer.get("gaps", []))
    ):
        return {"type": "unverifiable", "reason": "the lane's answer is not an envelope"}
    if pit is None and any(gap.get("type") not in rules.ANSWER_GAPS for gap in answer.get("gaps", [])):
        return {"type": "unverifiable", "reason": "the lane's answer has a gap of an unknown type"}
    verdict = rules.check_answer(answer, pit) if pit is not None else None
    return (
        None
        if verdict is None
        else {"type": "pit_excluded", "reason": f"{verdict.code}: the answer of this lane is left out"}
    )


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _united(items: list[Item]) -> Iterator[Item]:
    """Return the merged items of one revision, sorted first, so that the order of the lanes does not matter."""
    revisions: dict[tuple[str, str], list[Item]] = {}
    for item in sorted(items, key=_canonical):
        variants = revisions.setdefault(_revision(item), [])
        for variant in variants:
            shared = (variant.keys() & item.keys()) - {"lanes", "available_at"}
            if all(_canonical(variant[name]) == _canonical(item[name]) for name in shared):
                variant.update({**item, **variant, "lanes": sorted({*variant["lanes"], *item["lanes"]})})
                break
        else:
            variants.append(dict(item))
    for variants in revisions.values():
        yield from variants


def _revision(item: Item) -> tuple[str, str]:
    evidence, at = item.get("evidence"), item.get("available_at")
    if not isinstance(evidence, str) or not evidence:
        return _canonical({name: value for name, value in item.items() if name != "lanes"}), ""
    try:
        return evidence, rules.parse_instant(at).isoformat()
    except rules.InstantFault:
        return evidence, _canonical(at)


def _newest_first(item: Item) -> tuple[float, str]:
    at = item.get("available_at", item.get(rules.NEWEST_INPUT))
    try:
        return -rules.parse_instant(at).timestamp(), _canonical(item)
    except rules.InstantFault:
        return float("inf"), _canonical(item)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def main() -> int:
    """Merge a file of answers; the exit code is 0, or 2 for an invalid file or cut-off."""
    parser = argparse.ArgumentParser(description="Merge data agents' envelopes into one.", allow_abbrev=False)
    parser.add_argument("answers", type=Path, help="a JSON file, {lane: envelope or null}")
    parser.add_argument("--pit", help="the cut-off that each lane must respect")
    options = parser.parse_args()
    pit = cut_off({"pit": options.pit}, os.environ)
    if pit is not None and not isinstance(pit, str):
        parser.error(f"--pit: {pit.detail}")
    try:
        answers = rules.strict_json(options.answers.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        answers = None
    if not isinstance(answers, dict):
        parser.error("answers: not a file with one JSON object of lanes")
    sys.stdout.write(json.dumps(merge(answers, pit)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
