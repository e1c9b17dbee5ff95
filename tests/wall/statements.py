"""Generated statements: plain SELECTs for the truncation campaign, and a grammar fuzzer for the attack campaign.

Every statement depends only on a seed. Nothing here opens a session.
"""

import random
from collections.abc import Callable, Mapping, Sequence

from pitlake.datasets import get
from tests.wall.worlds import DATASETS

_NUMBERS = ("int", "float")
_AGGREGATES = (
    "count({c})",
    "min({c})",
    "max({c})",
    "count(DISTINCT {c})",
    "any_value({c} ORDER BY ALL)",
    "mode({c})",
    "list({c} ORDER BY {c})[:3]",
)
_SCALARS = (
    "{c}",
    "hash({c})",
    "md5({c}::VARCHAR)",
    "{c} IS NULL",
    "typeof({c})",
    "coalesce({c}::VARCHAR, '-')",
    "length({c}::VARCHAR)",
    "left({c}::VARCHAR, 5)",
    "{c}::VARCHAR LIKE '%a%'",
    "to_json({c})",
    "nullif({c}, {c})",
)
_SETTINGS = ("search_path", "TimeZone", "threads", "allowed_paths", "lock_configuration")
_WINDOWS = (
    "row_number() OVER w",
    "lag({c}) OVER w",
    "count(*) OVER w",
    "first_value({c}) OVER w",
    "dense_rank() OVER w",
    "lead({c}) OVER w",
)


class Draws(random.Random):
    """A random generator that knows the relations and their columns."""

    columns_of: Mapping[str, Sequence[str]] = {name: get(name).agent_columns for name in DATASETS}


def select(seed: int, columns_of: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return a SELECT with a total order over one or two datasets, by default those of the worlds."""
    rng = Draws(f"select/{seed}")
    rng.columns_of = columns_of or rng.columns_of
    make = rng.choice((_plain, _plain, _grouped, _windowed, _joined, _asof, _set_operation, _nested, _latest, _counted))
    return make(rng)


def relation(rng: Draws) -> tuple[str, list[str]]:
    """Return a relation of the session and its columns."""
    name = rng.choice([*rng.columns_of])
    return rng.choice((name, f"{name}_revisions")), list(rng.columns_of[name])


def _column(rng: random.Random, columns: list[str], alias: str = "") -> str:
    return f'{alias}"{rng.choice(columns)}"'


def _where(rng: random.Random, columns: list[str]) -> str:
    column = _column(rng, columns)
    return rng.choice(
        (
            "true",
            f"{column} IS NOT NULL",
            f"available_at > as_of() - INTERVAL {rng.randrange(1, 60)} DAY",
            f"available_at <= as_of() - INTERVAL {rng.randrange(1, 10**6)} MICROSECOND",
            f"{column}::VARCHAR > 'm'",
            f"hash({column}) % 3 = 0",
            "available_at = as_of()",
            "available_at > as_of()",
            f"{column} IN (SELECT {column} FROM lake_info WHERE false)",
        )
    )


def _plain(rng: Draws) -> str:
    name, columns = relation(rng)
    chosen = ", ".join(
        rng.choice(_SCALARS).format(c=_column(rng, columns)) + f" AS c{i}" for i in range(rng.randrange(1, 5))
    )
    tail = rng.choice(("", f" LIMIT {rng.randrange(20)}", f" LIMIT 5 OFFSET {rng.randrange(40)}"))
    return f"SELECT {chosen} FROM {name} WHERE {_where(rng, columns)} ORDER BY ALL{tail}"


def _grouped(rng: Draws) -> str:
    name, columns = relation(rng)
    key = rng.choice((_column(rng, columns), "date_trunc('month', available_at)", "available_at_source", "1"))
    measures = ", ".join(
        rng.choice(_AGGREGATES).format(c=_column(rng, columns)) + f" AS m{i}" for i in range(rng.randrange(1, 4))
    )
    having = rng.choice(("", " HAVING count(*) > 1"))
    shape = rng.choice(("GROUP BY k", "GROUP BY ROLLUP (k)"))
    return f"SELECT {key} AS k, {measures} FROM {name} WHERE {_where(rng, columns)} {shape}{having} ORDER BY ALL"


def _windowed(rng: Draws) -> str:
    name, columns = relation(rng)
    calls = ", ".join(rng.choice(_WINDOWS).format(c=_column(rng, columns)) + f" AS w{i}" for i in range(2))
    window = "PARTITION BY available_at_source ORDER BY available_at, evidence"
    return f"SELECT evidence, {calls} FROM {name} WINDOW w AS ({window}) ORDER BY ALL LIMIT 60"


def _joined(rng: Draws) -> str:
    (left, ours), (right, theirs) = relation(rng), relation(rng)
    how = rng.choice(("JOIN", "LEFT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"))
    chosen = (
        "a.evidence"
        if how in ("SEMI JOIN", "ANTI JOIN")
        else f"{_column(rng, ours, 'a.')}, {_column(rng, theirs, 'b.')}"
    )
    same_day = "date_trunc('day', a.available_at) = date_trunc('day', b.available_at)"
    return f"SELECT {chosen} FROM {left} a {how} {right} b ON {same_day} ORDER BY ALL LIMIT 80"


def _asof(rng: Draws) -> str:
    (left, _), (right, theirs) = relation(rng), relation(rng)
    return (
        f"SELECT a.evidence, {_column(rng, theirs, 'b.')} FROM {left} a ASOF LEFT JOIN"
        f" (SELECT * FROM {right} QUALIFY row_number() OVER (PARTITION BY available_at ORDER BY evidence) = 1) b"
        " ON a.available_at >= b.available_at ORDER BY ALL LIMIT 80"
    )


def _set_operation(rng: Draws) -> str:
    (left, ours), (right, theirs) = relation(rng), relation(rng)
    how = rng.choice(("UNION", "UNION ALL", "EXCEPT", "INTERSECT"))
    first, second = _column(rng, ours), _column(rng, theirs)
    return f"SELECT {first}::VARCHAR AS v FROM {left} {how} SELECT {second}::VARCHAR FROM {right} ORDER BY ALL"


def _nested(rng: Draws) -> str:
    name, columns = relation(rng)
    column = _column(rng, columns)
    return (
        f"WITH n AS MATERIALIZED (SELECT *, {column} AS picked FROM {name} WHERE {_where(rng, columns)})"
        " SELECT picked, (SELECT count(*) FROM n m WHERE m.available_at <= n.available_at) AS seen FROM n"
        " ORDER BY ALL LIMIT 40"
    )


def _latest(rng: Draws) -> str:
    name, columns = relation(rng)
    newest = "max(available_at), count(*), arg_max(evidence, (available_at, evidence))"
    return f"SELECT {newest}, {_column(rng, columns)} AS g FROM {name} GROUP BY g ORDER BY ALL"


def _counted(rng: Draws) -> str:
    return rng.choice(
        (
            "SELECT dataset, gap_type, reason, count(*), max(available_at) FROM gaps GROUP BY ALL ORDER BY ALL",
            "SELECT * FROM gaps ORDER BY ALL",
            "SELECT * FROM lake_info ORDER BY ALL",
            f"SELECT count(*) FROM {relation(rng)[0]}",
            f"SUMMARIZE SELECT available_at, evidence FROM {relation(rng)[0]}",
            f"SELECT * FROM {relation(rng)[0]} ORDER BY ALL LIMIT 30",
            f"SELECT * FROM {relation(rng)[0]} LIMIT 10",
        )
    )


def hostile(
    seed: int, functions: list[str], paths: list[str], columns_of: Mapping[str, Sequence[str]] | None = None
) -> str:
    """Return a statement of the grammar fuzzer: odd functions, odd arguments, paths, nested statements."""
    rng = Draws(f"hostile/{seed}")
    rng.columns_of = columns_of or rng.columns_of
    make = rng.choice((_call, _call, _table_call, _table_call, _wrapped, _definition, _pathed, _spliced))
    return make(rng, functions, paths)


def _argument(rng: Draws, paths: list[str]) -> str:
    name = rng.choice([*rng.columns_of])
    simple: tuple[Callable[[], str], ...] = (
        lambda: str(rng.choice((0, 1, -1, 2**31, 2**63 - 1))),
        lambda: "NULL",
        lambda: "''",
        lambda: f"'{name}'",
        lambda: f"'{rng.choice(paths)}'",
        lambda: f"['{rng.choice(paths)}']",
        lambda: "as_of()",
        lambda: "'%'",
        lambda: "1.5",
        lambda: "true",
        lambda: f"(SELECT max(evidence) FROM {name}_revisions)",
        lambda: f"(SELECT list(available_at) FROM {name})",
        lambda: "{'a': 1}",
        lambda: "MAP {'a': 1}",
        lambda: "'\\x00'::BLOB",
        lambda: "INTERVAL 1 DAY",
        lambda: f"'SELECT * FROM {name}'",
        lambda: "DATE '2024-01-01'",
        lambda: "'{\"a\": 1}'::JSON",
        lambda: "x -> x",
    )
    return rng.choice(simple)()


def _call(rng: Draws, functions: list[str], paths: list[str]) -> str:
    arguments = ", ".join(_argument(rng, paths) for _ in range(rng.randrange(4)))
    source = rng.choice(("", f" FROM {rng.choice([*rng.columns_of])}_revisions LIMIT 3"))
    return f'SELECT "{rng.choice(functions)}"({arguments}){source}'


def _table_call(rng: Draws, functions: list[str], paths: list[str]) -> str:
    arguments = ", ".join(_argument(rng, paths) for _ in range(rng.randrange(4)))
    return f'SELECT * FROM "{rng.choice(functions)}"({arguments}) LIMIT 20'


def _wrapped(rng: Draws, functions: list[str], paths: list[str]) -> str:
    inner = _call(rng, functions, paths)
    return rng.choice(
        (
            f"EXPLAIN {inner}",
            f"CREATE TEMP TABLE t{rng.randrange(99)} AS {inner}",
            f"COPY ({inner}) TO '{rng.choice(paths)}' (USE_TMP_FILE false)",
            f"PREPARE p AS {inner}",
            f"SELECT * FROM ({inner}) t",
            f"DESCRIBE {inner}",
            f"SUMMARIZE {inner}",
            f"WITH q AS (COPY ({inner}) TO '{rng.choice(paths)}') SELECT 1",
        )
    )


def _definition(rng: Draws, functions: list[str], paths: list[str]) -> str:
    name, dataset = rng.choice(functions), rng.choice([*rng.columns_of])
    return rng.choice(
        (
            f'CREATE OR REPLACE MACRO "{name}"(x) AS x',
            f'CREATE OR REPLACE TEMP MACRO "{name}"() AS TABLE FROM {dataset}',
            f"CREATE OR REPLACE VIEW {dataset} AS FROM '{rng.choice(paths)}'",
            f"CREATE TYPE {name.strip('@!') or 'x'} AS VARCHAR",
            f"SET VARIABLE v = {_argument(rng, paths)}",
            f"ATTACH '{rng.choice(paths)}' AS a{rng.randrange(9)}",
            f"DROP VIEW IF EXISTS {dataset}",
            f"SET {rng.choice(_SETTINGS)} = {_argument(rng, paths)}",
        )
    )


def _pathed(rng: Draws, functions: list[str], paths: list[str]) -> str:
    path = rng.choice(paths)
    spelling = rng.choice(
        (
            path,
            f"file://{path}",
            path.replace("/", "//", 1),
            f"/proc/self/root{path}",
            f"{path}?x=1",
            f"{path[:-1]}*",
            path.upper(),
        )
    )
    return rng.choice(
        (
            f"FROM '{spelling}'",
            f"SELECT * FROM glob('{spelling}')",
            f"TABLE '{spelling}'",
            f"SUMMARIZE '{spelling}'",
            f"ATTACH '{spelling}'",
        )
    )


def _spliced(rng: Draws, functions: list[str], paths: list[str]) -> str:
    statement = select(rng.randrange(10**6), rng.columns_of) if rng.random() < 0.5 else _call(rng, functions, paths)
    at = rng.randrange(1, len(statement))
    return (
        statement[:at]
        + rng.choice((";", "--", "/*", "'", '"', ")", " UNION ALL FROM ", "::", " ", "\x00", "$1", "😀"))
        + statement[at:]
    )
