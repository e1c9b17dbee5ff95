"""Pages as data: at the address of a page with `.json` behind its path, or with `Accept: application/json`.

The JSON contains what the page shows, without pictures. Instants are ISO-8601 in UTC.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import singledispatch
from types import SimpleNamespace
from typing import Any

import jinja2
import pyarrow as pa
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pitlake.answers.formats import MEDIA_TYPES, WRITERS, indented
from pitlake.charts import Svg
from pitlake.clock import iso
from pitlake.errors import BadInput

SUFFIX = ".json"
JSON = "application/json"
_NO_DATA = object()


def render(
    templates: jinja2.Environment,
    request: Request,
    template: str,
    facts: Mapping[str, Any],
    *,
    status: int = 200,
    **frame: Any,
) -> Response:
    """Return a page, or the JSON of its facts if the request asks for JSON. frame: values for the template only. Every
    template has the page's path, and its parameters except the instant and the page of rows.
    """
    if wants_json(request):
        return Response(indented(_data(facts)), status, media_type=JSON)
    parameters = {name: value for name, value in request.query_params.items() if name not in ("as_of", "turn")}
    frame = {"here": request.url.path, "asked": parameters, "events": ()} | frame
    return HTMLResponse(templates.get_template(template).render({**frame, **facts}), status)


def wants_json(request: Request) -> bool:
    return bool(request.headers.get("accept", "").split(",")[0].strip() == JSON)


def check_form(form: str) -> None:
    """Refuse file formats other than CSV and Parquet. Raises BadInput."""
    if form not in MEDIA_TYPES:
        raise BadInput("format", f"rows can't be downloaded as {form!r}", f"use {' or '.join(MEDIA_TYPES)}, or .json")


def download(table: pa.Table, name: str, form: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}.{form}"'}
    return Response(WRITERS[form](table), media_type=MEDIA_TYPES[form], headers=headers)


class JsonAddresses:
    """Answers `/at.json` as `/at` with `Accept: application/json`, and redirects to addresses of the same kind."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].endswith(SUFFIX):
            await self._app(scope, receive, send)
            return
        headers = MutableHeaders(raw=list(Headers(scope=scope).raw))
        headers["accept"] = JSON

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                path, mark, query = answered.get("location", "").partition("?")
                if path.startswith("/"):
                    answered["location"] = f"{path}{SUFFIX}{mark}{query}"
            await send(message)

        path = scope["path"].removesuffix(SUFFIX)
        await self._app({**scope, "path": path, "raw_path": path.encode(), "headers": headers.raw}, receive, send_on)


@singledispatch
def _data(value: Any) -> Any:
    """Return a value in JSON types; `_NO_DATA` for pictures, functions and the like."""
    if is_dataclass(value) and not isinstance(value, type):
        return _data({field.name: getattr(value, field.name) for field in fields(value)})
    return _NO_DATA


def _mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    items = ((str(name), _data(item)) for name, item in value.items() if not str(name).startswith("_"))
    return {name: item for name, item in items if item is not _NO_DATA}


def _items(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return _data(value._asdict())
    return [item for item in map(_data, value) if item is not _NO_DATA]


for _scalar in (type(None), bool, int):
    _data.register(_scalar, lambda value: value)
for _collection in (list, tuple, set, frozenset):
    _data.register(_collection, _items)
_data.register(str, lambda value: _NO_DATA if isinstance(value, Svg) else value)
_data.register(float, lambda value: value if math.isfinite(value) else None)
_data.register(date, lambda value: iso(value) if isinstance(value, datetime) else value.isoformat())
_data.register(Decimal, str)
_data.register(SimpleNamespace, lambda row: _mapping(vars(row)))
_data.register(Mapping, _mapping)
