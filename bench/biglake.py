"""A big lake computed from row numbers, to measure sessions: facts (one in ten restated), news and daily bars.
Every row is a function of its position, so that all machines measure the same lake. DuckDB computes it month by month,
and the lake's own writers and log store it. Then it is compacted.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa

from pitlake.contract import Dataset
from pitlake.datasets import get
from pitlake.lake import Lake
from pitlake.lake.publishing.months import years_of_tombstones
from pitlake.lake.publishing.superseded import facts_of_revision, new_tombstones
from pitlake.lake.storage.arrays import as_micros
from pitlake.lake.storage.files import NewFile, sorted_by, take_rows, write_file
from pitlake.lake.storage.log import LakeLog
from pitlake.lake.storage.manifest import TableState
from pitlake.lake.storage.store import Store
from pitlake.lake.tables.delta import DeltaTables, table_key, table_schema
from pitlake.lake.tables.query import calculator
from pitlake.tombstones import superseded_table_name

FIRST_YEAR, YEARS = 2011, 14
MONTHS = tuple(date(FIRST_YEAR + number // 12, number % 12 + 1, 1) for number in range(12 * YEARS))
CONCEPTS, RESTATED = 107, 12  # per filing: new facts, and restated facts of the previous quarter
SORTED_BY = {"prices": "symbol", "news": "ticker", "xbrl_facts": "ticker"}
"""The column by which a user would sort each table."""
FULL = {"facts": 2_000_000, "news": 500_000, "prices": 8_500_000}
SMALL = {"facts": 1_000_000, "news": 250_000, "prices": 1_000_000}

_TAIL = """'neo4j:' || {evidence} AS evidence, TIMESTAMPTZ '2026-01-01 00:00:00Z' AS observed_at,
    unhex(md5({row})) AS content_hash"""
_FACTS = f"""
WITH filing AS (
    SELECT company, 'T' || lpad(company::VARCHAR, 5, '0') AS ticker, lpad(company::VARCHAR, 10, '0') AS cik,
        make_timestamptz($year, $month, 1 + company * 7 % 28, 12 + company % 10, company % 60, company % 1000 / 1000)
            AS filed,
        lpad(company::VARCHAR, 10, '0') || '-' || $year % 100 || '-' || lpad($month::VARCHAR, 6, '0') AS accession
    FROM range($count) AS companies (company) WHERE company % 3 = $month % 3
), fact AS (
    SELECT *, CASE WHEN k < {CONCEPTS} THEN k ELSE (k * 7 + $month + company) % {CONCEPTS} END AS concept,
        (make_date($year, $month, 1) - to_months(CASE WHEN k < {CONCEPTS} THEN 1 ELSE 4 END))::DATE AS first_day
    FROM filing, range({CONCEPTS + RESTATED}) AS facts (k)
    WHERE k < {CONCEPTS} OR (SELECT $year * 12 + $month > {FIRST_YEAR * 12 + 4})
)
SELECT accession AS accession_no, CASE WHEN $month > 9 THEN '10-K' ELSE '10-Q' END AS form_type, cik, ticker,
    'us-gaap:Concept' || concept AS concept, 'Label of concept ' || concept AS label,
    (hash(company, k, first_day) % 100000000)::VARCHAR AS value, value::DOUBLE AS value_number,
    '-3' AS decimals, 'iso4217:USD' AS unit, CASE concept % 3 WHEN 0 THEN 'credit' WHEN 1 THEN 'debit' END AS balance,
    'duration' AS period_type, (first_day - to_months(2))::DATE AS period_start, last_day(first_day) AS period_end,
    true AS is_numeric, false AS is_nil, '' AS dimensions, '' AS members, 0 AS member_count, 'f-' || k AS fact_id,
    'acceptance' AS release_rule, filed AS accepted_at,
    filed AS available_at, 'edgar_accepted' AS available_at_source,
    {_TAIL.format(evidence="'Fact:' || accession || '-' || k", row="accession || k")}
FROM fact
"""
_PRICES = f"""
SELECT 'company' AS entity_kind, lpad(company::VARCHAR, 10, '0') AS entity_id,
    'T' || lpad(company::VARCHAR, 5, '0') AS symbol, day::DATE AS date,
    price AS open, price * 1.01 AS high, price * 0.99 AS low, price AS close, price AS vwap,
    (hash(day, company) % 1000000)::DOUBLE AS volume, (hash(company, day) % 9999)::DOUBLE AS transactions,
    day + INTERVAL 21 HOUR AS available_at, 'time_series_timestamp' AS available_at_source,
    {_TAIL.format(evidence="'HAS_PRICE:' || day::DATE || ':' || company", row="day::VARCHAR || company")}
FROM (
    SELECT company, day, round(20 + company % 300 + hash(company, day) % 1000 / 100, 2) AS price
    FROM range($count) AS companies (company), generate_series(
        make_timestamptz($year, $month, 1, 0, 0, 0),
        make_timestamptz($year, $month, 1, 0, 0, 0) + INTERVAL 1 MONTH - INTERVAL 1 DAY,
        INTERVAL 1 DAY
    ) AS days (day)
    WHERE isodow(day) < 6
)
"""
_NEWS = f"""
WITH article AS (
    SELECT n, ($year * 12 + $month)::BIGINT * 1000000 + n AS id,
        'T' || lpad((hash(n, $month) % 3000)::VARCHAR, 5, '0') AS ticker,
        make_timestamptz($year, $month, 1, 12, 0, 0) + to_seconds(hash(n, $year, $month) % 2300000) AS created
    FROM range($count) AS articles (n)
), revision AS (
    SELECT *, created AS public, 0 AS edit FROM article
    UNION ALL SELECT *, created + INTERVAL 30 MINUTE, 1 FROM article WHERE n % 20 = 0
), text AS (
    SELECT *, array_to_string(list_transform(range(60), lambda i: [
        'oil', 'margin', 'guidance', 'output', 'growth', 'risk', 'cloud', 'supply', 'raised', 'cut', 'rates', 'yields'
    ][1 + (hash(id, i) % 12)::INTEGER]), ' ') AS words
    FROM revision
)
SELECT 'bzNews_' || id AS id, ticker, [ticker] AS tickers, left(words, 70) AS title, left(words, 140) AS teaser,
    words || edit AS body, 'https://example.org/' || id AS url, ['staff'] AS authors, ['News'] AS channels,
    ['x'] AS tags, 'in_market' AS market_session, created, CASE edit WHEN 1 THEN public END AS updated,
    public AS available_at,
    'neo4j_created' AS available_at_source,
    {_TAIL.format(evidence="'News:' || id", row="id::VARCHAR || '-' || edit")}
FROM text
"""
_ROWS = {"xbrl_facts": _FACTS, "news": _NEWS, "prices": _PRICES}
FACTS_PER_COMPANY = (CONCEPTS + RESTATED) / 3  # per month
_PER_ITEM_AND_MONTH = {"xbrl_facts": FACTS_PER_COMPANY, "news": 1.05, "prices": 21.7}


def build(root: Path, facts: int, news: int, prices: int) -> Lake:
    """Return the lake at `root`, built if missing, with about this many rows of each dataset over 168 months."""
    lake = Lake(root)
    if (root / "made").exists():
        return lake
    lake.start()
    for name, rows in (("xbrl_facts", facts), ("news", news), ("prices", prices)):
        if not rows:
            continue
        items = round(rows / len(MONTHS) / _PER_ITEM_AND_MONTH[name])
        with ThreadPoolExecutor(2) as pool:
            commit(root, name, list(pool.map(partial(_month, root, get(name), items), MONTHS)))
        bury(root, lake, get(name))
        lake.compact(name)
    (root / "made").touch()
    return lake


def sorted_files(lake: Lake, folder: Path) -> dict[str, Path]:
    """Write one file per table, sorted by company, as a user would without a lake."""
    files = {name: folder / f"{name}.parquet" for name in SORTED_BY}
    with closing(duckdb.connect(":memory:", config={"threads": "2"})) as connection:
        for name, file in files.items():
            paths = [each.path for each in lake.snapshot().files(name)]
            connection.execute(
                f"COPY (FROM read_parquet({paths!r}, hive_partitioning=false) ORDER BY {SORTED_BY[name]}, available_at)"
                f" TO '{file}' (FORMAT parquet, COMPRESSION zstd)"
            )
    return files


def commit(root: Path, table: str, files: list[NewFile]) -> None:
    """Commit files as one lake version on top of the newest."""
    store = Store(root)
    log, tables = LakeLog(store), DeltaTables(store)
    base, dataset = log.head(), table.rpartition("/")[2]
    pin = tables.commit(table, table_schema(get(dataset), table), base.tables.get(table), files, note="bench")
    log.append(base, {table: pin}, operation="publish", run_id="bench", dataset=dataset, counts={})


def bury(root: Path, lake: Lake, dataset: Dataset) -> None:
    """Write the tombstones of all rows, one file per year."""
    nothing = pa.schema([dataset.arrow_schema.field(name) for name in facts_of_revision(dataset)]).empty_table()
    state = TableState(lake.snapshot().files(dataset.name))
    years = years_of_tombstones(new_tombstones(dataset, nothing, state, complete=False))
    table = superseded_table_name(dataset.name)
    commit(root, table, [write_file(Store(root), table_key(table), year, build_year()) for year, build_year in years])


def _month(root: Path, dataset: Dataset, items: int, month: date) -> NewFile:
    return write(root, dataset, f"{month:%Y-%m}", rows_of(dataset, items, month))


def rows_of(dataset: Dataset, items: int, month: date) -> pa.Table:
    """Return a month's rows of this many companies (for news: articles)."""
    params = {"count": items, "year": month.year, "month": month.month}
    with calculator(threads=1) as connection:
        table = connection.sql(_ROWS[dataset.name], params=params).to_arrow_table()
    return table.select(dataset.arrow_schema.names).cast(dataset.arrow_schema)


def write(root: Path, dataset: Dataset, month: str, rows: pa.Table) -> NewFile:
    """Write a month's rows as one file, in the lake's order."""
    order = sorted_by(rows[dataset.entity], as_micros(rows["available_at"]))
    return write_file(Store(root), table_key(dataset.name), month, take_rows(rows, order))
