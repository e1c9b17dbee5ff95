"""Spark in a separate process, with the libraries of `make spark`.

`python -m tests.spark.cluster MASTER SETTINGS [PACKAGE …]` (settings in JSON) writes an Arrow file for each line of
stdin, which requests a frame's rows as of several moments, or a plan.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
from delta import configure_spark_with_delta_pip
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pitlake.spark import frame

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
OF_FEW_ROWS = {
    "spark.driver.memory": "4g",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "2",
}
"""Settings for thousands of small answers, where compilation and partitions cost more than they save."""


def start(master: str, settings: Mapping[str, str], packages: Sequence[str]) -> SparkSession:
    """Return a Spark session that reads Delta tables."""
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return configure_spark_with_delta_pip(builder, [*packages]).getOrCreate()


def answer(spark: SparkSession, lake: str, dataset: str, revisions: bool, moments: list, zone: str) -> pa.Table:
    """Return the rows as of each moment (instant, version), with the moment's number in the column `asked`."""
    spark.conf.set("spark.sql.session.timeZone", zone)
    frames = [
        frame(spark, dataset, as_of=as_of, version=version, lake=lake, revisions=revisions).withColumn(
            "asked", f.lit(number)
        )
        for number, (as_of, version) in enumerate(moments)
    ]
    return reduce(DataFrame.unionAll, frames).toArrow()


def plan(spark: SparkSession, dataset: str, **question: Any) -> pa.Table:
    """Return Spark's plan for a frame's rows."""
    rows = frame(spark, dataset, **question)
    return pa.table({"plan": [rows._jdf.queryExecution().executedPlan().toString()]})


def main() -> None:
    master, settings, *packages = sys.argv[1:]
    spark = start(master, SETTINGS | OF_FEW_ROWS | json.loads(settings), packages)
    print("started", flush=True)
    for line in sys.stdin:
        document = json.loads(line)
        into, say = Path(document.pop("into")), {"rows": answer, "plan": plan}[document.pop("what")]
        table = say(spark, **document)
        with pa.ipc.new_file(into, table.schema) as file:
            file.write_table(table)
        print(into, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
