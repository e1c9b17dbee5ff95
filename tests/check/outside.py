"""Functions that read data that the lake does not date, each in a different way. Run by the check, never imported."""

import os
import sqlite3
import subprocess
from contextlib import suppress
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.fs
import pyarrow.parquet as pq

FIGURES = str(Path(__file__).with_name("figures.csv"))
FOLDER = Path("/nonexistent")


def file_by_open(session):
    with open(FIGURES) as figures:
        return len(figures.read())


def file_by_path(session):
    return len(Path(FIGURES).read_text())


def file_by_descriptor(session):
    descriptor = os.open(FIGURES, os.O_RDONLY)
    return len(os.read(descriptor, 9))


def file_by_pandas(session):
    return pd.read_csv(FIGURES)


def file_by_numpy(session):
    return np.genfromtxt(FIGURES, delimiter=",").tolist()


def file_by_polars(session):
    return pl.scan_csv(FIGURES).collect()


def file_by_polars_sql(session):
    return pl.sql(f"SELECT * FROM read_csv('{FIGURES}')", eager=True)


def file_by_arrow_filesystem(session):
    return len(pa.fs.LocalFileSystem().open_input_file(FIGURES).read())


def file_by_arrow_stream(session):
    return len(pa.input_stream(FIGURES).read())


def file_by_arrow_csv(session):
    return pa.csv.read_csv(FIGURES)


def file_by_arrow_dataset(session):
    return pa.dataset.dataset(FIGURES, format="csv").to_table()


def file_by_read_pandas(session):
    with suppress(FileNotFoundError):
        return pq.read_pandas(FOLDER / "figures.parquet")


def file_by_duckdb(session):
    return duckdb.read_csv(FIGURES).df()


def file_by_a_connection_of_ones_own(session):
    return duckdb.connect().execute(f"SELECT * FROM '{FIGURES}'").df()


def file_by_parameters(session):
    return duckdb.connect().execute("SELECT * FROM read_csv(?)", [FIGURES]).df()


def file_by_sqlite(session):
    with suppress(sqlite3.OperationalError):
        return sqlite3.connect(FOLDER / "figures.sqlite").execute("SELECT * FROM figures").fetchall()[0]


def file_by_a_data_module(session):
    import figures_in_code

    return sum(figures_in_code.FIGURES)


def process_by_subprocess(session):
    return len(subprocess.run(["cat", FIGURES], capture_output=True).stdout)


def process_by_system(session):
    return os.system(f"cat {FIGURES} > /dev/null")


def process_by_pipe(session):
    return len(os.popen(f"cat {FIGURES}").read())
