"""Implements `--input-file`: a provider's answer from a file is parsed and dated like a fetched answer.

It is filtered by the cut-off and never stored in the lake.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from assets.buckets import rows_table
from assets.extraction import Gap, Row, RunFacts
from assets.feeds.feed import Feed
from assets.feeds.runs import collect_unit, outcomes
from assets.splits import LakeSplits
from pipelines.fetch.asking import FetchQuestion, NotAsked
from pipelines.fetch.operations import Operation
from pitlake import clock
from pitlake.errors import AnswerRefused
from pitlake.lake.lake import Lake
from pitlake.lake.tables.query import calculator
from resources.http.capture import Capture, Request

EXCLUDED = "it became public after the cut-off"


def from_file(
    question: FetchQuestion, op: Operation, source: Feed, lake: Lake
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the rows in a file's answer up to the cut-off, and the types and reasons of its gaps.

    Raises NotAsked if the file can't be read or is not an answer. The file is used as the first answer, without further
    pages. The lake proves that no split changed a figure.
    """
    body = _body(question.input_file)
    requests: list[Request] = []

    def fetch(request: Request) -> Capture:
        if requests:
            raise AnswerRefused("no_data", "the file contains one answer", question.input_file)
        requests.append(request)
        capture = Capture(
            source=source.provider.name,
            method=request.method.upper(),
            url=f"file:/{request.path.lstrip('/')}",
            params=request.query,
            payload=request.json,
            status=200,
            headers={},
            body=body,
            fetched_at=clock.now(),
            sha256=hashlib.sha256(body).hexdigest(),
            request_key=request.key(source.provider.name),
        )
        verdict = source.provider.judge(capture)
        if verdict.outcome != "ok":
            raise NotAsked(verdict.reason, kind=verdict.gap_type)
        return capture

    results: list[Row | Gap] = []
    for unit in source.units(op.scope(question))[:1]:
        captures, _ = collect_unit(source, unit, fetch)
        run = RunFacts.of_lake(lake, observed_at=clock.now(), splits=LakeSplits(lake))
        results += [result for result, _ in outcomes(source, unit, captures, None, run)]
    return shown(question, op, source, results)


def shown(
    question: FetchQuestion, op: Operation, source: Feed, results: list[Row | Gap]
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the filtered outcomes that were public by the cut-off, up to one more than the limit, and the types and
    reasons of the other outcomes.
    """
    rows = [result for result in results if isinstance(result, Row)]
    public = [row for row in rows if question.pit is None or row.available_at <= question.pit]
    gaps = [(result.type, result.reason) for result in results if isinstance(result, Gap)]
    gaps += [("pit_excluded", EXCLUDED)] * (len(public) < len(rows))
    return _filtered(question, op, source, public), list(dict.fromkeys(gaps))


def _filtered(question: FetchQuestion, op: Operation, source: Feed, rows: list[Row]) -> list[dict[str, Any]]:
    if not rows:
        return []
    table = rows_table(source, rows).select(list(source.dataset.agent_columns))
    where, values = op.where(question)
    if op.by_address:
        values["found"] = [str(row.values.get("url", "")) for row in rows]
    with calculator(answer=table) as connection:
        newest = (
            f"row_number() OVER (PARTITION BY {', '.join(source.dataset.key)} ORDER BY available_at DESC, evidence)"
        )
        sql = f"""
            SELECT * FROM (SELECT * FROM answer QUALIFY {newest} = 1)
            WHERE {where} ORDER BY {op.order}, evidence LIMIT {question.limit + 1}"""
        return list(connection.sql(sql, params=values).to_arrow_table().to_pylist())


def _body(path: str) -> bytes:
    try:
        body = Path(path).read_bytes()
    except OSError as problem:
        raise NotAsked(f"the input file can't be read: {problem.strerror}") from None
    try:
        content = json.loads(body)
    except ValueError:
        return body  # The content is either CSV or no answer, as the provider's judge decides.
    wrapped = content.get("items") if isinstance(content, dict) and set(content) == {"items"} else None
    return json.dumps(wrapped).encode() if wrapped is not None else body
