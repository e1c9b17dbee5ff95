"""Drafts a policy from a server's tools and the answers of sample calls, for a person to review.

The proxy refuses a draft until `reviewed = false` at its top is changed. A draft contains no text of an answer.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pitlake.clock import NEW_YORK
from pitlake.proxy.cutting import Unusable, document_of
from pitlake.proxy.policy import JSON, JSON_BLOCKS, OWN_NAMES
from pitlake.proxy.times import EPOCH_MILLISECONDS, EPOCH_SECONDS, Undated, published
from pitlake.times import FORMATS

_BOUND = re.compile(
    r"(?:^|_)(?:end|until|before|to|as_?of|upto|max)(?:$|_|date|time)|end[A-Z]\w*(?:Date|Time)|(?:^|_)to$"
)
_PUBLISHED = re.compile(r"publi|date|time|creat|updat|modif|filed|accept|^t$", re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_DEEPEST = 6
HEAD = """\
# A draft. Read and correct every line, above all `published`, `bind` and `fields`, and write reviewed = true.
# Is an item's time its time of publication? Does the source change items later?
# If figures are restated, adjusted or counted over later data, leave these fields or the tool out.
# A tool that is not named here is refused."""


def draft(tools: Sequence[Mapping[str, Any]], samples: Sequence[tuple[str, Mapping[str, Any] | None]]) -> str:
    """Return the text of a draft. samples: tools with their answers, None without one."""
    answers = {tool: answer for tool, answer in samples if answer is not None and not answer.get("isError")}
    lines = [HEAD, 'server = "server"', "reviewed = false"]
    for tool in tools:
        name = str(tool["name"])
        properties = (tool["schema"] or {}).get("properties") or {}
        if name in answers:
            lines += ["", f"[tools.{_key(name)}]", *_tool(properties, answers[name])]
    left_out = [str(tool["name"]) for tool in tools if tool["name"] not in answers]
    if left_out:
        lines += ["", "# Not drafted, because no sample call had an answer:", *(f"# {name}" for name in left_out)]
    return "\n".join(lines) + "\n"


def _tool(properties: Mapping[str, Any], answer: Mapping[str, Any]) -> list[str]:
    bounds = [name for name in properties if _BOUND.search(name)]
    lines = [f"arguments = {_list(name for name in properties if name not in bounds)}"]
    if bounds:
        spelled = ", ".join(f'{_key(name)} = "{_template(properties[name])}"' for name in bounds)
        lines.append(f"bind = {{ {spelled} }}")
    else:
        lines.append("# No argument seems to limit the time, so only the answers are cut.")
    for form in (JSON, JSON_BLOCKS):
        try:
            document = document_of(answer, form)
        except Unusable:
            continue
        place, items = max(_lists(document), key=lambda entry: len(entry[1]), default=("", [document]))
        if items and isinstance(items[0], dict):
            return [*lines, *([f'answer = "{form}"'] if form != JSON else []), *_items(place, items)]
    return [*lines, "# The answer is not JSON: its items can't be found, so leave this tool out."]


def _items(place: str, items: list[Any]) -> list[str]:
    names = list(dict.fromkeys(name for item in items if isinstance(item, dict) for name in item))
    dates = {name: form for name in names if _PUBLISHED.search(name) and (form := _form(name, items))}
    lines = [f'items = "{place}"']
    if dates:
        form = next(iter(dates.values()))
        lines.append(f"published = {_list(name for name in dates if dates[name] == form)}")
        lines += [f'format = "{form}"'] if form != FORMATS[0] else []
        lines.append('# timezone = "…"  # of times and dates without one; by default dates are New York\'s')
    else:
        lines.append("published = []  # no member of an item looks like its publication: every item would be a gap")
    lines.append(f"fields = {_list(name for name in names if name not in OWN_NAMES)}")
    key = next((name for name in ("id", "url", "link", "accession_number") if name in names), "")
    lines.append(
        f"key = {_list([key])}" if key else '# key = ["…"]  # members that identify an item, so that edits are seen'
    )
    return lines


def _form(name: str, items: list[Any]) -> str:
    """Return the format that fits the times of this member in all items; "" if none fits."""
    spellings = [item[name] for item in items if isinstance(item, dict) and item.get(name) not in (None, "")]
    return next((form for form in FORMATS if spellings and all(_is_time(spelled, form) for spelled in spellings)), "")


def _is_time(spelled: Any, form: str) -> bool:
    if form in (EPOCH_SECONDS, EPOCH_MILLISECONDS) and not isinstance(spelled, int | float):
        return False
    try:
        published(spelled, form, NEW_YORK)
    except Undated:
        return False
    return True


def _lists(value: Any, place: str = "", depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    """Yield every list of objects in an answer, with its path."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        if any(isinstance(member, dict) for member in value):
            yield f"{place}[]", value
    elif isinstance(value, dict):
        for name, member in value.items():
            if _NAME.fullmatch(name):
                yield from _lists(member, f"{place}.{name}" if place else name, depth + 1)


def _template(schema: Any) -> str:
    text = json.dumps(schema).lower()
    if "integer" in text or "epoch" in text or "unix" in text:
        return "{epoch}"
    return "{instant}" if "rfc" in text or "date-time" in text or "hh:mm" in text else "{date}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _list(names: Any) -> str:
    return json.dumps(list(names), ensure_ascii=False)
