"""The attack campaign: the written attacks, every function of DuckDB, and the grammar fuzzer, in two worlds.

`sealed_attacks` runs the fuzzer against pitlake's session; `functions` asks DuckDB for everything that can be called.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import duckdb

from tests.wall import attacks, statements
from tests.wall.distinguish import OpenRunner, Report, distinguish
from tests.wall.sealed import Sealed
from tests.wall.worlds import DATASETS, World

SHARE, STATEMENTS_A_SESSION = 2_000, 40
# These functions wait or end DuckDB by design; the tests of the limits call them instead.
_WAITS = frozenset({"sleep_ms", "pragma_force_checkpoint"})
_SHAPES = (
    "",
    "{c}",
    "NULL",
    "'{f}'",
    "'{f}', '{f}'",
    "['{f}']",
    "'{d}'",
    "{c}, {c}",
    "{c}, 1",
    "'{f}', 1, true",
    "1, 2, 3",
)


@cache
def functions() -> tuple[tuple[str, bool], ...]:
    """Return every function, macro and pragma of DuckDB: its name, and whether it is a table function."""
    rows = duckdb.connect().execute("SELECT DISTINCT function_name, function_type FROM duckdb_functions()").fetchall()
    return tuple(sorted((name, kind in ("table", "table_macro")) for name, kind in rows if name not in _WAITS))


def written(world: World, datasets: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the attacks from the files, aimed at each dataset."""
    for dataset in datasets:
        for attack in attacks.load(world, dataset):
            yield f"{dataset}:{attack.name}", attack.sql


def called(world: World, dataset: str = "news") -> Iterator[tuple[str, str]]:
    """Yield calls of every function with arguments of several shapes, over rows and over a file of the future."""
    future = attacks.targets(world, dataset, port=9)["future_file"]
    for name, is_table in functions():
        for number, shape in enumerate(_SHAPES):
            arguments = shape.format(c="evidence", f=future, d=dataset)
            if is_table:
                if "evidence" not in arguments:
                    yield f"function:{name}:{number}", f'SELECT * FROM "{name}"({arguments}) LIMIT 50'
            else:
                yield f"function:{name}:{number}", f'SELECT "{name}"({arguments}) FROM {dataset}_revisions LIMIT 5'


def generated(
    world: World,
    count: int,
    seed: int = 0,
    paths: Sequence[str] = (),
    columns_of: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield statements of the grammar fuzzer, by default over the worlds' datasets and the paths of some of them."""
    names = [name for name, _ in functions()]
    # The names are constructed, not listed, because the statements must be the same in both worlds.
    months = [
        f"{world.root}/tables/{name}/available_month=2024-0{month}" for name in DATASETS[:3] for month in range(3, 8)
    ]
    paths = paths or [f"{month}/part-{half}.parquet" for month in months for half in range(2)]
    paths = [*paths, str(world.root), "/etc/passwd", "/proc/self/maps"]
    for number in range(seed, seed + count):
        yield f"fuzz:{number}", statements.hostile(number, names, paths, columns_of)


def share(seed: int, folder: Path) -> Report:
    """Run the written attacks, the functions or generated statements in two worlds, depending on the seed."""
    os.chdir(folder)
    root = folder / "lake"
    if seed == 0:
        return distinguish(root, Sealed, lambda world: written(world, DATASETS), a_session=1)
    if seed == 1:
        return distinguish(root, Sealed, called, a_session=STATEMENTS_A_SESSION)
    return sealed_attacks(root, SHARE, seed=seed * SHARE)


def sealed_attacks(root: Path, count: int, seed: int = 0, open_runner: OpenRunner = Sealed) -> Report:
    """Run `count` generated statements in two worlds."""
    return distinguish(root, open_runner, lambda world: generated(world, count, seed), a_session=STATEMENTS_A_SESSION)
