"""Perplexity's requests: one per question, with the filters of a scope under the provider's names.

Date filters only reduce the number of results. Results are dated and checked in any case. web_results and web_syntheses
share the requests, and therefore their captures.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from assets.feeds.feed import Fetch, Scope, Unit
from pitlake.errors import BadInput
from pitlake.gate.rules import strict_json
from resources.http.capture import Capture, Request

SEARCH = "search"
MODELS = {"ask": "sonar-pro", "reason": "sonar-reasoning-pro", "research": "sonar-deep-research"}
OPERATIONS = (SEARCH, *MODELS)
MODES = ("web", "academic", "sec")
RECENCY = ("hour", "day", "week", "month", "year")
SIZES = ("low", "medium", "high")
MOST_RESULTS = 20
OPTIONS = (
    "op",
    "search_mode",
    "search_recency",
    "search_domains",
    "max_results",
    "max_tokens",
    "max_tokens_per_page",
    "search_context_size",
    "response_format",
)


def units(scope: Scope) -> Sequence[Unit]:
    """Return one unit per question. Raises BadInput without a question or for an unknown option."""
    if not scope.queries:
        raise BadInput("queries", "no question is given", "give at least one")
    request("", scope)
    return [Unit(query, scope) for query in dict.fromkeys(scope.queries)]


def operation(scope: Scope) -> str:
    """Return search, ask, reason or research. Raises BadInput."""
    return _one_of(scope.options, "op", OPERATIONS, SEARCH)


def mode(scope: Scope) -> str:
    """Return web, academic or sec. Raises BadInput."""
    return _one_of(scope.options, "search_mode", MODES, "web")


def request(query: str, scope: Scope) -> Request:
    """Return the request of a question. Raises BadInput for unknown options."""
    unknown = sorted(set(scope.options) - set(OPTIONS))
    if unknown:
        raise BadInput("options", f"there is no option {unknown[0]}", f"choose among {', '.join(OPTIONS)}")
    if operation(scope) == SEARCH:
        if "response_format" in scope.options:
            problem = "is for the text of a chat answer, and a search has none"
            raise BadInput("response_format", problem, f"choose one of {', '.join(MODELS)}")
        body = {
            "query": query,
            "max_results": _whole(scope.options, "max_results", 10, MOST_RESULTS),
            "max_tokens": _whole(scope.options, "max_tokens", None, 1_000_000),
            "max_tokens_per_page": _whole(scope.options, "max_tokens_per_page", None, 1_000_000),
            **_filters(scope),
        }
        return Request("search", method="POST", json=_present(body))
    size = _one_of(scope.options, "search_context_size", SIZES, "")
    body = {
        "model": MODELS[operation(scope)],
        "messages": [{"role": "user", "content": query}],
        "web_search_options": {"search_context_size": size} if size else None,
        "max_tokens": _whole(scope.options, "max_tokens", None, 1_000_000),
        "response_format": _schema(scope.options),
        **_filters(scope),
    }
    return Request("chat/completions", method="POST", json=_present(body))


def collect(unit: Unit, fetch: Fetch) -> Iterator[Capture]:
    yield fetch(request(unit.name, unit.scope))


def question_of(capture: Capture) -> tuple[str, str]:
    """Return the operation and the question of a capture, from its request."""
    payload = capture.payload if isinstance(capture.payload, dict) else {}
    if capture.url.endswith("/search"):
        return SEARCH, str(payload.get("query", ""))
    model_names = {model: name for name, model in MODELS.items()}
    messages = payload.get("messages") or [{}]
    return model_names.get(str(payload.get("model")), "ask"), str(messages[0].get("content", ""))


def is_locator(capture: Capture) -> bool:
    """Return whether the question used SEC mode, whose hits only locate filings."""
    return isinstance(capture.payload, dict) and capture.payload.get("search_mode") == "sec"


def _filters(scope: Scope) -> dict[str, Any]:
    recency = _one_of(scope.options, "search_recency", RECENCY, "")
    if recency and (scope.date_from or scope.date_to):
        raise BadInput("search_recency", "can't be combined with dates", "leave out one of the two")
    domains = [domain for domain in scope.options.get("search_domains", "").split(",") if domain.strip()]
    return {
        "search_after_date_filter": _american(scope.date_from),
        "search_before_date_filter": _american(scope.date_to),
        "search_recency_filter": recency or None,
        "search_domain_filter": [domain.strip() for domain in domains] or None,
        "search_mode": None if mode(scope) == "web" else mode(scope),
    }


def _schema(options: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the response format for a JSON schema in the options, or None. Raises BadInput.

    A date in such a response is still the model's claim and proves nothing, so the response stays prose.
    """
    text = options.get("response_format")
    if text is None:
        return None
    try:
        schema = strict_json(text)
    except (ValueError, RecursionError):
        schema = None
    if not isinstance(schema, dict):
        raise BadInput("response_format", f"is not a JSON schema: {text[:40]!r}", 'give {"type": "object", …}')
    return {"type": "json_schema", "json_schema": {"schema": schema}}


def _american(day: date | None) -> str | None:
    """Return a day as `M/D/YYYY`, the format of the filters."""
    return f"{day.month}/{day.day}/{day.year}" if day else None


def _present(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _one_of(options: Mapping[str, str], name: str, allowed: Sequence[str], default: str) -> str:
    chosen = options.get(name, default)
    if chosen != default and chosen not in allowed:
        raise BadInput(name, f"there is no {chosen!r}", f"choose one of {', '.join(allowed)}")
    return chosen


def _whole(options: Mapping[str, str], name: str, default: int | None, most: int) -> int | None:
    text = options.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= most:
        raise BadInput(name, f"{text!r} is not a number in range", f"give 1 to {most}")
    return int(text)
