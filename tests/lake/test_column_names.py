"""The product's SQL on a dataset whose columns have every name used in that SQL, compared with the same dataset under
plain names.
"""

import ast
import io
import json
import re
from datetime import date, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pitlake import datasets
from pitlake.answers import contents
from pitlake.answers.export import export
from pitlake.contract import INSTANT, RESERVED, Column, Dataset
from pitlake.gate.rules import is_forbidden_key
from pitlake.lake.lake import Lake
from pitlake.lake.publishing.stage import StagedGap, staged_schema
from pitlake.report import site
from pitlake.session import Session
from pitlake.session.contracts import Catalogue
from pitlake.session.sql.statements import newest_by_window
from pitlake.session.visible import words as index_of_words
from pitlake.web.history import Number, history
from tests.lake.world import utc
from tests.sessions import open_at

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("pitlake", "assets", "checks", "resources", "pipelines", "forge")
QUERY = re.compile(r"\b(?:SELECT|FROM|JOIN|WHERE|OVER|GROUP BY|ORDER BY|QUALIFY)\b")
WORD = re.compile(r"(?<![\w$.'])[a-z][a-z0-9_]*\b(?!\()")
FIRST, SECOND, THIRD = utc("2023-11-06T15:00:00Z"), utc("2024-03-06T15:00:00Z"), utc("2024-03-08T15:00:00Z")
DAY = timedelta(days=1)
NAME = "odd_names"


@cache
def words() -> list[str]:
    """Return all names in the product's SQL and all reserved words of DuckDB that a column may have."""
    texts = (path.read_text() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    trees = map(ast.parse, filter(re.compile("SELECT|FROM|JOIN|WHERE|OVER|GROUP|ORDER|QUALIFY").search, texts))
    values = (child for tree in trees for node in ast.walk(tree) if not isinstance(node, ast.Expr)
              for child in ast.iter_child_nodes(node) if isinstance(child, (ast.Constant, ast.JoinedStr)))  # fmt: skip
    queries = filter(QUERY.search, map(text_of, values))
    reserved = duckdb.sql("SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'").fetchall()
    result = {name for query in queries for name in WORD.findall(query)} | {name for (name,) in reserved}
    return sorted(name for name in result - RESERVED if not is_forbidden_key(name))


def text_of(node: ast.Constant | ast.JoinedStr) -> str:
    """Return the text of a literal, or of the constant parts of an f-string."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return " ".join(str(part.value) for part in parts if isinstance(part, ast.Constant))


TYPES = {"about": "date", "value": "float", "written_at": "instant"}
"""The types of columns that are not strings. A number's history needs a day and a number, a revision needs its date."""


def contract(kind: str, spelled: dict[str, str]) -> Dataset:
    """Return a dataset with these column names. In the kind `in_key`, nearly all columns form the key."""
    columns = [Column(name=spelled[word], type=TYPES.get(word, "string"), meaning=word) for word in words()]
    key = ["about", "position", "order"]
    if kind == "in_key":
        key = [word for word in words() if word not in ("value", "written_at")]
    return Dataset(
        name=NAME,
        title="Odd names",
        summary="A toy.",
        availability="Stated.",
        columns=tuple(columns),
        key=tuple(spelled[word] for word in key),
        entity=spelled["entity"],
        tiebreak=(spelled["lag"],) if kind == "in_content" else (),
        newer_by=(spelled["seen"],) if kind == "in_key" else (),
        frozen=(spelled["hashed"],) if kind == "in_key" else (),
        gap_names=(f"{{{spelled['name']}}}",),
        revised_at={"in_content": spelled["written_at"], "history": "available_at"}.get(kind, ""),
        source_tag="neo4j_created",
        knowable={spelled["ours"]: "hindsight"} if kind == "in_content" else {},
    )


def record(
    number: int, at: datetime, value: float, spelled: dict[str, str], written_at: datetime | None = None
) -> dict:
    """Return a record whose strings are all different."""
    row: dict[str, Any] = {spelled[word]: f"{word} {number}" for word in words()}
    row |= {
        spelled["about"]: date(2024, 1, 1) + number * DAY,
        spelled["value"]: value,
        spelled["written_at"]: written_at,
    }
    return row | {"available_at": at, "available_at_source": "neo4j_created", "evidence": f"neo4j:Odd:{number}"}


def fill(root: Path, dataset: Dataset, spelled: dict[str, str]) -> Lake:
    """Fill a lake by three polls with new, changed and late records and gaps, and compact its old month."""
    lake = Lake(root)
    recent = SECOND - DAY
    looks = {
        FIRST + DAY: [record(0, FIRST, 1.0, spelled), record(1, FIRST, 2.0, spelled)],
        SECOND: [record(2, recent, 3.0, spelled), record(2, recent, 3.0, spelled), record(3, recent, 3.5, spelled)],
        THIRD: [
            record(2, recent, 4.0, spelled, SECOND),
            record(3, recent, 3.5, spelled),
            record(4, recent, 5.0, spelled),
        ],
    }
    for number, (observed_at, rows) in enumerate(looks.items()):
        gap = StagedGap("unverifiable", "no date", f"name {number + 5}", None)
        with lake.stage(dataset, f"run{number}") as stage:
            for day in {row["available_at"].date() for row in rows}:
                of_day = [row for row in rows if row["available_at"].date() == day]
                stage.add(day, pa.Table.from_pylist(of_day, staged_schema(dataset)), extracted=len(of_day))
            stage.add(None, gaps=[gap], extracted=1)
            lake.publish(stage, observed_at)
    lake.compact(dataset)
    return lake


def ask(session: Session, dataset: Dataset, without: str = "") -> dict[str, list[tuple[Any, ...]]]:
    text = ", ".join(f'"{column.name}"' for column in dataset.columns if column.name != without)
    return {
        view: session.sql(f"SELECT {text}, available_at, evidence FROM {view} ORDER BY evidence, available_at").rows()
        for view in (NAME, f"{NAME}_revisions")
    }


def history_of(session: Session, dataset: Dataset, spelled: dict[str, str]) -> tuple[Any, ...]:
    expected = record(2, SECOND, 0.0, spelled)
    result = history(session, Number(dataset, spelled["value"], {name: str(expected[name]) for name in dataset.key}))
    return [(revision.value, revision.available_at) for revision in result.revisions], result.neighbours


def answers(root: Path, kind: str, spelled: dict[str, str], patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the results of the product's SQL on a dataset, under the plain column names."""
    dataset = contract(kind, spelled)
    patch.setitem(datasets.all_datasets(), NAME, dataset)
    lake = fill(root / "lake", dataset, spelled)
    site.write(site.read(lake, contracts={NAME: dataset}, at=THIRD + DAY), root / "site")
    report = json.loads((root / "site" / site.NUMBERS).read_text())["datasets"][NAME]
    report["columns"] = [*report["columns"].values()]
    at, catalogue = SECOND + DAY / 2, Catalogue({NAME: dataset})
    handle = partial(open_at, lake.snapshot(), at, isolation="in_process")
    by_window = Catalogue({NAME: dataset}, {NAME: newest_by_window(dataset) + "\n"})
    with handle(catalogue=by_window) as session:
        windowed = ask(session, dataset)
    with handle(catalogue=catalogue, hindsight="omit") as session:
        omitted = ask(session, dataset, without=spelled["ours"] if kind == "in_content" else "")
    with handle(catalogue=catalogue) as session:
        return {
            "rows": [ask(session, dataset), windowed, omitted],
            "report": report,
            "changes": contents.changes(session, FIRST + DAY),
            "held": contents.holdings(session),
            "number": None if kind == "in_key" else history_of(session, dataset, spelled),
            "exported": [(each.table, each.rows) for each in export(session, str(root / "copy"))],
        }


@pytest.mark.parametrize("kind", ["in_key", "in_content", "history"])
def test_columns_named_after_sql_words_give_the_same_answers_as_plain_names(kind, tmp_path, monkeypatch):
    odd = answers(tmp_path / "odd", kind, {word: word for word in words()}, monkeypatch)
    plain = answers(tmp_path / "plain", kind, {word: f"c{n:03}" for n, word in enumerate(words())}, monkeypatch)
    assert odd == plain
    assert (odd["report"]["rows"], odd["report"]["late"]["count"]) == (6, 1)


@pytest.mark.parametrize("name", ["row", "rows", "text", "words", "characters"])
def test_a_searched_column_may_have_a_name_that_the_index_uses_internally(name):
    def index(column: str) -> pa.Table:
        rows = pa.table({column: ["growth slows", "growth"], "available_at": pa.array([FIRST, SECOND], INSTANT)})
        file = io.BytesIO()
        index_of_words.write([rows], (column,), file)
        return pq.read_table(io.BytesIO(file.getvalue()))

    assert index(name).equals(index("plain"))
