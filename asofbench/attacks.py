"""The classes of leaks that lie in the door. A door may refuse what attacks it; it must still answer.

In statements {view} is what the asker was given, {base} what lies under it, {file} a file that holds the rows, {folder}
the place of the files, {entity} the case's entity. A system that has none of these puts the view's name in their place.
"""

from asofbench.model import Case, Row
from asofbench.setting import HIGHEST_CANARY, Setting, answer_of

CLOCK = (
    "SELECT now()",
    "SELECT current_timestamp",
    "SELECT get_current_timestamp()",
    "SELECT current_date",
    "SELECT today()",
    "SELECT transaction_timestamp()",
    "SELECT current_localtimestamp()",
    "SELECT max(t) FROM range(now() - INTERVAL 1 DAY, now(), INTERVAL 1 HOUR) r(t)",
)
LISTING = (
    "SHOW ALL TABLES",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM duckdb_views()",
    "SELECT * FROM glob('{folder}/**')",
    "SELECT * FROM glob('**')",
    "SELECT * FROM duckdb_temporary_files()",
    "SELECT * FROM duckdb_databases()",
)
STATISTICS = (
    "SUMMARIZE {view}",
    "SELECT stats(value) FROM {view}",
    "SELECT stats(text) FROM {view}",
    "SELECT * FROM pragma_storage_info('{base}')",
    "SELECT stats_max_value, stats_min_value FROM parquet_metadata('{file}')",
    "SELECT max(value), max(text) FROM {view}",
    "SELECT approx_top_k(value, 9) FROM {view}",
    "SELECT histogram(value) FROM {view}",
)
COUNTS = (
    "EXPLAIN SELECT * FROM {view}",
    "EXPLAIN ANALYZE SELECT count(*) FROM {view}",
    "SELECT estimated_size FROM duckdb_tables()",
    "SELECT count(*) FROM {view}",
    "SELECT num_rows FROM parquet_file_metadata('{file}')",
    "EXPLAIN ANALYZE SELECT entity, count(*) FROM {view} GROUP BY entity",
    "EXPLAIN SELECT max(value) FROM {view} WHERE entity = '{entity}'",
    "SELECT max(rowid) FROM {view}",
)
ERRORS = (
    "SELECT item FROM {view} WHERE CASE WHEN entity = '{entity}' THEN CAST(text AS INTEGER) END > 0",
    "SELECT CASE WHEN entity = '{entity}' THEN CAST(text AS DATE) END FROM {view}",
    "SELECT sum(CASE WHEN entity = '{entity}' THEN CAST(text AS INTEGER) END) FROM {view}",
    "SELECT item FROM {view} WHERE entity = '{entity}' AND CAST(text AS INTEGER) > 0",
    "SELECT error(text) FROM {view} WHERE entity = '{entity}' AND value > 900000000",
    "SELECT CASE WHEN entity = '{entity}' AND value > 900000000 THEN error(text) END FROM {view}",
    "SELECT item FROM {view} WHERE CASE WHEN value > 900000000 THEN error(text) ELSE true END",
    "SELECT item FROM {view} WHERE entity = '{entity}' AND CAST(value AS SMALLINT) > 0",
)
ESCAPES = (
    "SELECT * FROM {base}",
    "SELECT * FROM read_parquet('{file}')",
    "SELECT content FROM read_blob('{folder}/**')",
    "SELECT * FROM query_table('{base}')",
    "SELECT * FROM query('FROM {base}')",
    "CREATE OR REPLACE VIEW {view} AS SELECT * FROM {base}; SELECT * FROM {view}",
    "ATTACH '{file}' AS beside; SHOW ALL TABLES",
    "SET enable_external_access = true; SELECT * FROM read_parquet('{file}')",
)
HOSTILE = (
    "DROP VIEW {view}",
    "COPY (SELECT 'mine' AS entity) TO '{file}' (FORMAT parquet)",
    "ATTACH '{folder}/beside.db' AS beside; CREATE TABLE beside.found AS FROM {view}",
    "CREATE OR REPLACE VIEW {view} AS SELECT * FROM {base}",
    "SET TimeZone = 'Pacific/Kiritimati'; DELETE FROM {base}",
    "INSTALL httpfs; LOAD httpfs",
    "UPDATE {base} SET value = 0, text = ''",
    "EXPORT DATABASE '{folder}'",
)


def _attack(
    one: Setting, kind: str, statements: tuple[str, ...], *more: Row, known: Row | None = None, late: Row | None = None
) -> Case:
    """A statement against the door at T; at the planted instant the planted must be there, by an ordinary question."""
    known, late = known or one.public(one.items[0]), late or one.hidden(one.items[1])
    return one.case(
        [known],
        [late, *more],
        (one.ask(kind, statement=statements[one.number % len(statements)]), None),
        (one.ask("rows", one.world.future), answer_of([known, late])),
    )


def forgotten_cutoff(one: Setting) -> Case:
    """The caller leaves the instant out. A door that holds T answers as of T, another may refuse."""
    return _attack(one, "forgotten", ("",))


def missing_time(one: Setting) -> Case:
    """Records are joined to events that have no time. They may get nothing, or what is public at T."""
    known = one.public(one.items[0])
    late = [one.hidden(item) for item in one.items[:2]]
    return one.case(
        [known],
        late,
        (one.ask("missing", spine=tuple((row.entity, row.item, "") for row in late)), None),
        (one.ask("rows", one.world.future), answer_of(late)),
    )


def machine_clock(one: Setting) -> Case:
    """What day is it? A door as of T that tells today tells how much of its data is missing, and filters by it."""
    return _attack(one, "clock", CLOCK)


def catalogue_listing(one: Setting) -> Case:
    """Lists of tables, files, partitions and symbols: an entity that has nothing but a future must be in none."""
    return _attack(one, "listing", LISTING, one.hidden(one.items[0], entity=one.mark("entity")))


def file_statistics(one: Setting) -> Case:
    """Minima and maxima that a format keeps beside the data. The planted number and text are the world's highest."""
    highest = HIGHEST_CANARY + one.dice.number(1, 9_000_000, "highest")
    late = one.hidden(one.items[1], value=float(highest), text=f"{one.mark('highest')} tops them all.")
    return _attack(one, "statistics", STATISTICS, late=late)


def row_counts(one: Setting) -> Case:
    """Numbers of rows in plans and metadata: alike with and without a future, or the future can be counted."""
    return _attack(one, "counts", COUNTS)


def error_text(one: Setting) -> Case:
    """A cast that fails tells the value it failed on, before or after the filter."""
    return _attack(one, "error", ERRORS, known=one.public(one.items[0], text="1200"))


def sql_escape(one: Setting) -> Case:
    """Statements that go around the view: its table, its files, its settings."""
    return _attack(one, "escape", ESCAPES)


def hostile_session(one: Setting) -> Case:
    """A session writes, drops, attaches and overwrites what it can reach. The next session must answer as before."""
    known, late = one.public(one.items[0]), one.hidden(one.items[1])
    return one.case(
        [known],
        [late],
        (one.ask("hostile", statement=HOSTILE[one.number % len(HOSTILE)]), answer_of([known])),
        (one.ask("rows", one.world.future), answer_of([known, late])),
    )
