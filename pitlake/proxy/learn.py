"""Drafts a policy from a server's tools and the answers to sample calls, for a person to review.

The proxy refuses a draft until `reviewed = false` at its top is changed. A draft contains no text of an answer.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import Any

from pitlake import clock
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput
from pitlake.proxy.cutting import PASSED, Unusable, cut_answer, document_of
from pitlake.proxy.names import COUNT, kind_of_name
from pitlake.proxy.policy import JSON, JSON_BLOCKS, OWN_NAMES, VALUE, ToolPolicy, from_members
from pitlake.proxy.times import Undated, is_up_to, names_later_day, published, stray_instants
from pitlake.times import EPOCH_UNITS, FORMATS

_BOUND = re.compile(
    r"(?:^|_)(?:end|until|before|to|as_?of|upto|max)(?:$|_?(?:date|time|day|ts))|end[A-Z]\w*(?:Date|Time)"
)
_LIMIT = re.compile(
    r"limit|count|num|max_?(?:results|items|count)|(?:page_?|^)size|per_?page|num_results|n|top_?k|first"
)
_PLACE_IN_LIST = re.compile(
    r"(?:\w*_)?(?:rank|position|ordinal|total|of)|(?:row|item|result|page)_?(?:no|num|number|index)|index"
    r"|total_?(?:count|results|hits|items|pages)|num_?(?:found|results)",
    re.IGNORECASE,
)
_TOKEN_ARGUMENT = re.compile(r"(?:page_?|next_?)?token|(?:next_?)?cursor|after", re.IGNORECASE)
_TOKEN_MEMBER = re.compile(r"next_?(?:page_?)?(?:token|cursor)|next|cursor", re.IGNORECASE)
_NUMBERED_PAGE, _OFFSET = re.compile(r"page(?:_?(?:number|no|num))?", re.IGNORECASE), re.compile(r"offset|skip")
_NAME = re.compile(r"[^.\[\]{}]+")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WRITTEN_FORMATS = (
    "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%Y/%m/%d", "%Y/%m/%d %H:%M:%S", "%m/%d/%Y", "%d/%m/%Y",
    "%d.%m.%Y", "%m/%d/%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S %Z", "%a %b %d %H:%M:%S %Y",
)  # fmt: skip
_DEEPEST, _SHOWN, _MOST, _REASONS, _LONGEST_COMPLAINT = 6, 50, 100, 3, 300
_PROGRAM = re.compile(r"(?<![^\W_])(?:sql|graphql|cypher|sparql)(?![^\W_])", re.IGNORECASE)
_ERROR_TEXT = re.compile(r"\W*(?:\w+ )?(?:error|failed|exception)\b", re.IGNORECASE)
NO_ANSWER = "there was no answer: the server ended, or the call took longer than --timeout"
HEAD = """\
# A draft. Read and correct every line, above all `published`, `bind` and `fields`, and write reviewed = true.
# Is an item's time its time of publication? Does the source change items later?
# If figures are restated, adjusted or counted over later data, leave these fields or the tool out.
# A tool that is not named here is refused."""


def draft(tools: Sequence[Mapping[str, Any]], samples: Sequence[tuple[str, Mapping[str, Any] | None]]) -> str:
    """Return a draft as text. samples: tools with their answers; None for a tool without a sample.

    A tool is commented out, with the reason, if its lines would let no item of its sample pass.
    """
    answers = {tool: answer for tool, answer in samples if answer is not None and not complaint(answer)}
    lines = ['server = "server"', "reviewed = false"]
    for tool in tools:
        name = str(tool["name"])
        properties = (tool["schema"] or {}).get("properties") or {}
        if name in answers:
            drafted, problem = _tool(properties, answers[name])
            problem, note = " ".join(filter(None, (_steering(properties), problem))), ""
            if not problem:
                problem, note = _trial(drafted, answers[name])
            table = [f"[tools.{_key(name)}]", *([f"# {note}"] if note else []), *drafted]
            if problem:
                table = [f"# Commented out: {problem}", *(f"# {line}" for line in table)]
            lines += ["", *table]
    failed = {tool for tool, _ in samples} - answers.keys()
    others = {str(tool["name"]) for tool in tools} - answers.keys()
    for reason, names in (("the sample call failed", failed), ("there was no sample call", others - failed)):
        if names:
            lines += ["", f"# Not drafted, because {reason}:", *(f"# {name}" for name in sorted(names))]
    return "\n".join((HEAD, *map(_on_one_line, lines))) + "\n"


def _on_one_line(line: str) -> str:
    """Return a line of a draft without the control characters that a server's names may contain."""
    return "".join(sign if sign >= " " and sign != "\x7f" else f"\\u{ord(sign):04x}" for sign in line)


def complaint(answer: Mapping[str, Any] | None) -> str:
    """Return in one line, in the server's words, why a sample call has no answer; "" if it has one.

    Many servers report an error of their source as an ordinary answer: a string, or an object with an error member.
    """
    if answer is None:
        return NO_ANSWER
    blocks = [block for block in answer.get("content") or () if isinstance(block, dict)]
    words = " ".join(str(block.get("text", "")) for block in blocks)
    if not answer.get("isError"):
        try:
            document = document_of(answer, JSON)
        except Unusable:
            document = words
        words = _error_of(document)
    plain = "".join(filter(str.isprintable, " ".join(words.split())))[:_LONGEST_COMPLAINT]
    return plain or ("it did not say why" if answer.get("isError") else "")


def _error_of(document: Any) -> str:
    """Return the error that an answer reports; "" if it reports none."""
    if isinstance(document, dict) and document.keys() == {"result"}:
        document = document["result"]
    if isinstance(document, str):
        with suppress(ValueError, RecursionError):
            document = json.loads(document)
    if isinstance(document, str):
        return document if _ERROR_TEXT.match(document) else ""
    if not isinstance(document, dict) or any(isinstance(member, list) and member for member in document.values()):
        return ""
    error = document.get("error")
    if error or document.get("success") is False or document.get("status") in ("error", "failed"):
        texts = (error, document.get("message"), document.get("detail"))
        return next((text for text in texts if isinstance(text, str)), json.dumps(error or document))
    return ""


def _steering(properties: Mapping[str, Any]) -> str:
    """Return why a caller could choose the dates of items; "" if not."""
    for name, schema in properties.items():
        if _PROGRAM.search(f"{name} {schema.get('description', '') if isinstance(schema, dict) else ''}"):
            step = f'fixed = {{ {_key(name)} = "…" }}'
            return f"with a {name} of its own a caller can date the items as it likes. Write your own: {step}."
    return ""


def _tool(properties: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return a tool's lines, and the reason if they can't be used."""
    best: tuple[str, str, list[Any], bool] | None = None
    for form in (JSON, JSON_BLOCKS):
        try:
            document = document_of(answer, form)
        except Unusable:
            continue
        is_one_block = form == JSON_BLOCKS and len(document) == 1
        root, whole = ("[]", document[0]) if is_one_block else ("", document)
        for place, items in _lists(whole, root):
            if best is None or _worth(items, place != root) > _worth(*best[2:]):
                best = form, place, items, place != root
    if best is None:
        return _arguments(properties, answer, is_list=False), f"{_shape(answer)}: no item can be found."
    form, place, items, is_list = best
    lines = [*_arguments(properties, answer, is_list=is_list), *([f'answer = "{form}"'] if form != JSON else [])]
    item_lines, problem = _items(place, items)
    if problem and not is_list and any(member == [] for member in items[0].values()):
        problem = "the answer has an empty list: draft from a call that finds items."
    return [*lines, *item_lines], problem


def _trial(lines: list[str], answer: Mapping[str, Any]) -> tuple[str, str]:
    """Return why these lines let no item of a sample pass, or what they leave out; "" for neither."""
    try:
        policy = from_members(tomllib.loads("\n".join(map(_on_one_line, lines))))
    except (BadInput, tomllib.TOMLDecodeError) as fault:
        return " ".join(str(fault).split()), ""
    now = clock.now()
    counts = cut_answer(answer, policy, now, name="draft").counts
    left_out = sum(counts.values()) - counts.get(PASSED, 0)
    if not left_out and counts:
        return "", ""
    reasons = [*dict.fromkeys(_obstacles(policy, answer, now))][:_REASONS] or sorted(counts.keys() - {PASSED})
    because = f"({', '.join(reasons) or 'it has none'})."
    if counts.get(PASSED):
        return "", f"{left_out} of {sum(counts.values())} items of the sample would not pass {because}"
    return f"no item of the sample would pass {because}", ""


def _obstacles(policy: ToolPolicy, answer: Mapping[str, Any], now: datetime) -> Iterator[str]:
    """Yield the members that prevent a sample's items from passing, and why."""
    for item, keys in islice(policy.item_place.items(document_of(answer, policy.answer)), _SHOWN):
        for name, member in ({**item, **keys} if isinstance(item, dict) else keys).items():
            text = member if isinstance(member, str) else json.dumps(member, ensure_ascii=False)
            try:
                if any(moment > now for moment in stray_instants({name: member}, policy.zone, form=policy.format)):
                    yield f"{name} states a later time: is it one of business_dates?"
                elif names_later_day(text, now.date()) and not is_up_to(text, now, policy.zone, policy.format):
                    is_prose = " " in text and any(map(str.isalpha, text))
                    words = f'the text of {name} names a later day: may texts be "as_published"?'
                    yield words if is_prose else f"{name} states a later time: is it one of business_dates?"
            except Undated:
                yield f"{name} can't be read as a time"


def _shape(answer: Mapping[str, Any]) -> str:
    """Return a description of an answer in which no items can be found."""
    blocks = [block for block in answer.get("content") or () if isinstance(block, dict)]
    texts = [str(block["text"]) for block in blocks if block.get("type") == "text" and "text" in block]
    if not texts:
        return "the answer has no text"
    for read, words in ((json.loads, "is JSON without objects"), (ast.literal_eval, "is in Python's notation")):
        try:
            if isinstance(read(texts[0]), list | dict | tuple):
                return f"the answer {words}"
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return "the answer is prose"


def _worth(items: list[Any], is_list: bool) -> tuple[bool, int, bool]:
    return bool(_dates(items)), len(items), is_list


def _arguments(properties: Mapping[str, Any], answer: Mapping[str, Any], *, is_list: bool) -> list[str]:
    bounds = [name for name in properties if _BOUND.search(name)]
    limits = [name for name in properties if _LIMIT.fullmatch(name) and _is_number(properties[name])]
    limit = limits[0] if limits and is_list else None
    most = properties[limit].get("maximum", _MOST) if limit else _MOST
    paging = _paging(properties, answer, most) if is_list else (None, [])
    taken = {*bounds, limit, paging[0], *(["cursor"] if limit or paging[0] else [])}  # The proxy has its own cursor.
    lines = [f"arguments = {_list(name for name in properties if name not in taken)}"]
    if bounds:
        spelled = ", ".join(f'{_key(name)} = "{_template(properties[name])}"' for name in bounds)
        lines.append(f"bind = {{ {spelled} }}")
    else:
        lines.append("# No argument seems to limit the time, so only the answers are cut.")
    if limit:
        lines.append(f"limit = {{ argument = {json.dumps(limit)}, most = {int(most)} }}  # the most the server takes")
    return [*lines, *paging[1]]


def _paging(properties: Mapping[str, Any], answer: Mapping[str, Any], most: Any) -> tuple[str | None, list[str]]:
    """Return the argument for the next page, and its line."""
    for name in properties:
        argument = json.dumps(name)
        if _TOKEN_ARGUMENT.fullmatch(name) and (member := _token_place(answer)):
            return name, [f"pages = {{ argument = {argument}, next = {json.dumps(member)} }}"]
        if _NUMBERED_PAGE.fullmatch(name) and _is_number(properties[name]):
            return name, [f"pages = {{ argument = {argument}, first = 1 }}"]
        if _OFFSET.fullmatch(name) and _is_number(properties[name]):
            return name, [f"pages = {{ argument = {argument}, step = {int(most)} }}  # the items of a page"]
    return None, []


def _token_place(answer: Mapping[str, Any]) -> str:
    try:
        document = document_of(answer, JSON)
    except Unusable:
        return ""
    parents = [("", document)]
    if isinstance(document, dict):
        parents += [(f"{name}.", member) for name, member in document.items() if _NAME.fullmatch(name)]
    names = (
        prefix + name
        for prefix, parent in parents
        if isinstance(parent, dict)
        for name, member in parent.items()
        if _TOKEN_MEMBER.fullmatch(name) and not isinstance(member, dict | list)
    )
    return next(names, "")


def _items(place: str, items: list[Any]) -> tuple[list[str], str]:
    """Return the lines of the items at a path, and the reason if they can't be used."""
    names = list(dict.fromkeys(name for item in items for name in item))
    dates = _dates(items)
    lines = [f"items = {json.dumps(place)}"]
    problem = ""
    if dates:
        form = next(iter(dates.values()))
        lines.append(f"published = {_list(name for name in dates if dates[name] == form)}")
        lines += [f"format = {json.dumps(form)}"] if form != FORMATS[0] else []
        lines.append('timezone = "America/New_York"  # of times and dates without one')
    else:
        lines.append("published = []")
        problem = "no member of an item can be read as its publication."
    places = [
        name for name in names if _PLACE_IN_LIST.fullmatch(name) and all(type(item.get(name)) is int for item in items)
    ]
    lines.append(f"fields = {_list(name for name in names if name not in OWN_NAMES and name not in places)}")
    lines += [f"# {name} is left out: a place in the list reveals the number of later items." for name in places]
    key = next((name for name in ("id", "uuid", "url", "link", "accession_number") if name in names), "")
    lines.append(
        f"key = {_list([key])}" if key else '# key = ["…"]  # members that identify an item, so that edits are seen'
    )
    return lines, problem


def _dates(items: list[Any]) -> dict[str, str]:
    """Return the paths in these items that can be read as times, with formats; members named as times come first."""
    shown_texts = items[:_SHOWN]
    places = list(dict.fromkeys(place for item in shown_texts for place in _places(item)))
    forms = {place: _form([_at(item, place) for item in shown_texts]) for place in places}
    names = {place: form for place, form in forms.items() if form and kind_of_name(place.rpartition(".")[2]) > COUNT}
    others = {place: form for place, form in forms.items() if form and form not in EPOCH_UNITS}
    return dict(sorted((names or others).items(), key=lambda entry: entry[0].count(".")))


def _places(item: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[str]:
    for name, member in item.items():
        if not _NAME.fullmatch(name):
            continue
        if isinstance(member, dict) and depth < 2:
            yield from _places(member, f"{prefix}{name}.", depth + 1)
        elif isinstance(member, str | int | float):
            yield prefix + name


def _at(item: Any, place: str) -> Any:
    for name in place.split("."):
        item = item.get(name) if isinstance(item, dict) else None
    return item


def _form(spellings: list[Any]) -> str:
    """Return the format of all these times; "" if no format fits."""
    stated_times = [spelled for spelled in spellings if spelled not in (None, "")]
    forms = (*FORMATS, *_WRITTEN_FORMATS)
    return next(
        (form for form in forms if stated_times and all(_is_time(spelled, form) for spelled in stated_times)), ""
    )


def _is_time(spelled: Any, form: str) -> bool:
    try:
        published(spelled, form, NEW_YORK)
    except Undated:
        return False
    return True


def _lists(value: Any, place: str = "", depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    """Yield every list of objects in an answer, and every table that is keyed by times, with its path."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        if objects := [member for member in value if isinstance(member, dict)]:
            yield f"{place}[]", objects
    elif isinstance(value, dict):
        dot = f"{place}." if place else ""
        if rows := _by_time(value):
            yield f"{dot}{{date}}", rows
        elif rows := [{"column": name, **row} for name, column in value.items() for row in _by_time(column)]:
            if all(VALUE in row for row in rows) and all(map(_by_time, value.values())):
                yield f"{dot}{{column}}.{{date}}", rows
        elif depth == 0:
            yield place, [value]
        for name, member in value.items():
            if _NAME.fullmatch(name):
                yield from _lists(member, dot + name, depth + 1)


def _by_time(table: Any) -> list[dict[str, Any]]:
    """Return the rows of an object whose names are times; none if any name is not a time."""
    if not isinstance(table, dict) or not table or not _form(list(table)[:_SHOWN]):
        return []
    return [
        {**(member if isinstance(member, dict) else {VALUE: member}), "date": moment}
        for moment, member in table.items()
    ]


def _is_number(schema: Any) -> bool:
    kinds = json.dumps([schema.get("type"), schema.get("anyOf")]) if isinstance(schema, dict) else ""
    return "integer" in kinds or "number" in kinds


def _template(schema: Any) -> str:
    text = json.dumps(schema).lower()
    if "integer" in text or "epoch" in text or "unix" in text:
        return "{epoch}"
    return "{instant}" if "rfc" in text or "date-time" in text or "hh:mm" in text else "{date}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _list(names: Any) -> str:
    return json.dumps(list(names), ensure_ascii=False)
