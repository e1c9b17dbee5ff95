"""A dataset as of an instant as a Spark DataFrame: the rows of a session, read by many machines.

The session's own SQL selects the rows; sqlglot translates it to Spark's dialect. The lake's log gives the versions of
the Delta tables. The rows are the same, but there is no wall: the owner of the Spark session can read everything.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from pitlake import datasets
from pitlake.clock import AVAILABLE_AT, micros, new_york_month
from pitlake.errors import BadInput, LakeError
from pitlake.lake.lake import Lake
from pitlake.lake.storage.files import MONTH_COLUMN
from pitlake.session.sql import statements
from pitlake.session.viewpoint import Viewpoint
from pitlake.tombstones import SUPERSEDED_SCHEMA, superseded_table_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXPORT = "`pitlake export --as-of T --to URL` copies its rows as a plain Delta table"
DELTA = "make it with configure_spark_with_delta_pip of delta-spark, as docs/spark.md does"


def frame(
    spark: "SparkSession",
    dataset: str,
    *,
    as_of: str | datetime,
    version: int | None = None,
    lake: str | Path | Lake | None = None,
    revisions: bool = False,
) -> "DataFrame":
    """Return the rows of a dataset that were public at an instant: the newest of each key, or all with `revisions`.

    spark: a session that reads Delta tables. as_of, version, lake: as `pitlake.connect` takes them. The columns are the
    same as in a session's `<dataset>`, or `<dataset>_revisions`. Spark reads the rows when they are used. Raises
    BadInput (also for an instant in the future, and where a library is missing), BadInstant, LakeNotFound,
    VersionVacuumed, and LakeError for a table that Spark can't read.
    """
    for library in ("pyspark", "sqlglot"):
        if find_spec(library) is None:
            raise BadInput("spark", f"{library} is not installed", "pip install 'pitlake[spark]'")
    contract = datasets.get(dataset)
    if contract.open_only:
        raise BadInput(
            "dataset", f"{contract.name} is shown in open mode only", "query it in a session with open_mode=True"
        )
    viewpoint = Viewpoint.parse(as_of, version=version, lake=lake)
    open_lake, at = viewpoint.open_lake(), cast("datetime", viewpoint.as_of)
    entry = open_lake.entry(viewpoint.snapshot().version)
    each, dead = statements.installed()[contract.name], superseded_table_name(contract.name)
    with _lake_errors(open_lake, contract.name):
        stored = _Stored(spark, open_lake, entry.tables, at)
        relations = {
            ("lake", contract.name): stored.until(contract.name, contract.arrow_schema),
            ("lake", f"superseded_{contract.name}"): stored.until(dead, SUPERSEDED_SCHEMA),
        }
        every = _over(relations, statements.revisions(each), spark)
        if revisions:
            return every.withColumn("revision", every["revision"].cast("bigint"))
        relations["", f"{contract.name}_revisions"] = every
        (view,) = statements.shown(each, dated=dead in entry.tables)
        return _over(relations, view, spark)


class _Stored:
    """The tables of a lake version, up to an instant."""

    def __init__(self, spark: "SparkSession", lake: Lake, pins: Mapping[str, int], at: datetime) -> None:
        self._spark, self._lake, self._pins, self._at = spark, lake, pins, at

    def until(self, table: str, schema: pa.Schema) -> "DataFrame":
        """Return the public rows of a table. The folders are named by New York months (years for tombstones), and Spark
        does not know that these follow from the instant. The filter therefore names both, so that no later file is
        opened.
        """
        from pyspark.sql import functions as f

        if table not in self._pins:
            return self._spark.createDataFrame(schema.empty_table())
        delta = self._spark.read.format("delta").option("versionAsOf", self._pins[table])
        table_rows = delta.load(self._lake.table_uri(table).replace("s3://", "s3a://", 1))
        month = f.col(MONTH_COLUMN) <= new_york_month(self._at)
        rows = table_rows.where(month & (f.col(AVAILABLE_AT) <= f.timestamp_micros(f.lit(micros(self._at)))))
        missing = [name for name in schema.names if name not in rows.columns]
        if missing:  # The version is older than these columns of the contract.
            for field in self._spark.createDataFrame(schema.empty_table().select(missing)).schema:
                rows = rows.withColumn(field.name, f.lit(None).cast(field.dataType))
        return rows


def _over(relations: Mapping[tuple[str, str], "DataFrame"], text: str, spark: "SparkSession") -> "DataFrame":
    """Return a session's view over these relations instead of those that it names."""
    from sqlglot import ErrorLevel, UnsupportedError, exp, parse_one

    query, places = parse_one(text, read="duckdb").expression, list(relations)
    for table in list(query.find_all(exp.Table)):
        if (table.db, table.name) not in places:
            raise UnsupportedError(f"{table.name} is not the dataset's own")
        place = places.index((table.db, table.name))
        table.set("db", None)
        table.set("this", exp.to_identifier(f"{{relation_{place}}}", quoted=False))
    by_place = {f"relation_{place}": relation for place, relation in enumerate(relations.values())}
    return spark.sql(query.sql("spark", unsupported_level=ErrorLevel.RAISE), **by_place)


@contextmanager
def _lake_errors(lake: Lake, dataset: str) -> Iterator[None]:
    """Turn an error of the SQL translation, or of Spark about a table, into one line."""
    from pyspark.errors import PySparkException
    from sqlglot.errors import SqlglotError

    try:
        yield
    except SqlglotError:
        raise BadInput("dataset", f"the view of {dataset} can't be expressed in Spark SQL", EXPORT) from None
    except PySparkException as problem:
        summary = str(problem).splitlines()[0]
        if "DATA_SOURCE_NOT_FOUND" in summary:
            raise BadInput("spark", "its session does not support Delta tables", DELTA) from None
        raise LakeError(f"Spark could not read {dataset} of {lake.location}: {summary}") from problem
