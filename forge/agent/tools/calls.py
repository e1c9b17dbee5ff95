"""Interprets the calls of a model: misspelt tool names, and calls that a small model writes as text."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from forge.agent.tools.base import Tool
from forge.model.messages import Answer, Call, Message, Results
from forge.records.spelling import key, load_json, unique_names

UNREADABLE = "tool_call"
"""The name given to an unreadable call in text. No tool has this name, so the call fails with a reason."""
_TAGGED = re.compile(r"<(tool_calls?|tool_use|function_calls?|invoke)\b[^>]*>(?P<call>.*?)(?:</\1>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```[\w-]*\n(?P<call>.*?)(?:```|\Z)", re.DOTALL)
_LIKE_CALL = re.compile(r"\s*(?:[\[{<]|Action:)")
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_NAMES, _ARGUMENTS = ("name", "tool", "function"), ("arguments", "parameters", "args", "input")


def interpret_calls(answer: Answer, tools: Mapping[str, Tool], messages: Sequence[Message]) -> Answer:
    """Return an answer with the calls that the model meant.

    A tool's name is corrected if only one tool can be meant. Text that consists only of calls, plain, fenced or tagged,
    becomes these calls; unreadable tagged calls become one call that fails. A call in prose is an example. A call that
    also occurs in an earlier message is a quotation, so repeating a page calls nothing.
    """
    if answer.finish not in ("stop", "tools"):
        return answer
    if answer.calls:
        return replace(answer, calls=tuple(replace(call, name=meant_tool(call.name, tools)) for call in answer.calls))
    pairs, alone = _written_calls(answer.text, tools, messages)
    calls = tuple(Call(name, values, f"text-{len(messages)}-{place}") for place, (name, values) in enumerate(pairs))
    return replace(answer, text="", calls=calls, finish="tools", carried=()) if calls and alone else answer


def shows_call(text: str, tools: Mapping[str, Tool], messages: Sequence[Message]) -> bool:
    """Return whether a text has calls in prose, which may be examples, or looks like an unreadable call."""
    calls, alone = _written_calls(text, tools, messages)
    names_tool = any(re.search(rf'["<=:] ?{name}\b', text) for name in tools)
    unreadable = not calls and names_tool and _LIKE_CALL.match(text) and not _has_quotation([text], messages)
    return bool((calls and not alone) or unreadable)


def meant_tool(name: str, tools: Mapping[str, Tool]) -> str:
    """Return the only tool that a name such as `Read`, `functions.read` or `raed` can mean; otherwise the name."""
    word = key(name.rpartition(".")[2])
    if word in tools:
        return word
    first = word.partition("_")[0]
    alike = [tool for tool in tools if tool[:1] == word[:1]]
    near = [first] if first in tools else get_close_matches(word, alike, 2, 0.7)
    return near[0] if len(near) == 1 else name


def _written_calls(
    text: str, tools: Mapping[str, Tool], messages: Sequence[Message]
) -> tuple[list[tuple[str, Any]], bool]:
    """Return the calls in a text (none if any of them is a quotation), and whether the text consists only of calls."""
    text = _THOUGHT.sub("", text).strip()
    pattern = next((form for form in (_TAGGED, _FENCED) if form.search(text)), None)
    parts = [match["call"] for match in pattern.finditer(text)] if pattern else [text]
    calls: list[tuple[str, Any]] = []
    for part in parts:
        call_text = part.strip()
        try:  # A part is JSON, or an expression such as `name(argument, name=argument)`.
            whole = load_json(call_text) if call_text[:1] in "[{" else _call_expression(call_text, tools)
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            whole = []
        part_calls = list[tuple[str, Any]]()
        for item in whole if isinstance(whole, list) else [whole]:
            inside = item["function"] if isinstance(item, dict) and isinstance(item.get("function"), dict) else item
            if not isinstance(inside, dict):
                continue
            name = next((inside[each] for each in _NAMES if isinstance(inside.get(each), str)), "")
            arguments = next((inside[each] for each in _ARGUMENTS if isinstance(inside.get(each), dict | str)), None)
            if name and arguments is not None:
                part_calls.append((meant_tool(name, tools), arguments))
        if not any(name in tools for name, _ in part_calls):
            calls = [(UNREADABLE, call_text[:200])] if pattern is _TAGGED else []
            break
        calls += part_calls  # A call to an unknown tool among them fails with a reason.
    alone = pattern is None or not pattern.sub("", text).strip()
    return [] if calls and _has_quotation(parts, messages) else calls, alone


def _has_quotation(parts: Sequence[str], messages: Sequence[Message]) -> bool:
    sources = list[str]()
    for message in messages:  # without the model's own answers
        if isinstance(message, Results):
            sources += [_plain(result.text) for result in message.returned]
        elif isinstance(message, str):
            sources.append(_plain(message))
    return any(_plain(part) in source for part in parts for source in sources)


def _plain(text: str) -> str:
    """Return a text without spaces and backslashes, which may change in a quotation."""
    return re.sub(r"[\s\\]+", "", text)


def _call_expression(text: str, tools: Mapping[str, Tool]) -> dict[str, Any]:
    """Convert a call that is written as an expression to the JSON form. Raises ValueError or SyntaxError."""
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return {}
    name = meant_tool(call.func.id, tools)
    names = list(tools[name].spec.schema["properties"]) if name in tools else []
    names += [f"argument {number}" for number in range(len(names), len(call.args))]  # The tool refuses these.
    pairs = [*zip(names, call.args, strict=False), *((part.arg or "", part.value) for part in call.keywords)]
    arguments = unique_names((argument, ast.literal_eval(value)) for argument, value in pairs)
    return {"name": name, "arguments": json.loads(json.dumps(arguments))}
