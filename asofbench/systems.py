"""The systems: their packages, their configuration, and the documentation of that configuration."""

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from pathlib import Path
from types import MappingProxyType
from typing import Any

ENTRY_POINTS = "asofbench.systems"


class BadTarget(Exception):
    """A system that can't be found or imported; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class System:
    """One system in one configuration. adapter: module and class. packages: pinned, for one environment. configuration:
    default (from the first page of its documentation), best (recommended by its documentation) or pattern (a common way
    to write it). docs: the page that shows the configuration. here: whether it runs in this interpreter.
    """

    name: str
    family: str
    configuration: str
    how: str
    adapter: str
    docs: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    here: bool = False
    control: bool = False

    def adapter_class(self) -> Any:
        """Return the adapter's class. Raises ImportError if the system is not installed."""
        module, _, name = self.adapter.rpartition(":")
        return getattr(_module(module), name)


def _module(name: str) -> Any:
    """Import a module by its name or the path of its file."""
    if not name.endswith(".py"):
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    if spec is None or spec.loader is None or not Path(name).exists():
        raise ImportError(f"there is no file {name}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "duckdb": ("duckdb==2.0.0", "pytz==2026.5"),
    "pandas": ("pandas==3.1.1",),
    "polars": ("polars==2.1.0",),
    "deltalake": ("deltalake==1.6.6", "pyarrow==26.0.0"),
    "pyiceberg": ("pyiceberg[sql-sqlite,pyarrow]==0.12.0", "pyarrow==26.0.0"),
    "arcticdb": ("arcticdb==6.28.2", "pandas==2.3.3"),
    "feast": ("feast[duckdb]==0.67.0", "pandas==2.3.3"),
    "traderharness": ("traderharness==1.1.0", "pandas==3.1.1"),
    "ducklake": ("duckdb-extension-ducklake==1.5.5", "duckdb==1.5.5", "pytz==2026.6"),
    "anatid": ("anatid==0.4.1", "duckdb==2.0.1"),
    "plugmem": ("plugmem==0.12.0",),
    "factblock": ("factblock==1.0.0a15", "pyarrow==26.0.0"),
    "memvara": ("memvara==0.21.0", "pysqlite3-binary==0.5.4.post2"),
    "graphiti": ("graphiti-core[kuzu]==0.31.2", "httpx==0.28.1"),
    "mem0": ("mem0ai==2.2.1",),
    "langgraph": ("langgraph-checkpoint-sqlite==3.1.2", "langgraph==1.2.22"),
    "arkleon": ("arkleon==0.1.6",),
    "vintage-mcp": ("vintage-mcp==0.9.0",),
    "xtdb": ("com.xtdb:xtdb-core==1.24.5",),
    "mcp-server-motherduck": ("mcp-server-motherduck==1.1.0", "fastmcp==4.1.2", "duckdb==1.5.6"),
}
"""The packages of each family's environment, in the versions that were current when the cases were frozen. A name with
a colon is a jar, which Maven installs with what it needs.
"""

_VIEWS = "https://duckdb.org/docs/stable/sql/statements/create_view"
_MACROS = "https://duckdb.org/docs/stable/sql/statements/create_macro"
_SECURING = "https://duckdb.org/docs/2.0/operations_manual/securing_duckdb/overview.html"
_MERGE_ASOF = "https://pandas.pydata.org/docs/reference/api/pandas.merge_asof.html"
_JOIN_ASOF = "https://docs.pola.rs/api/python/stable/reference/dataframe/api/polars.DataFrame.join_asof.html"
_DELTA = "https://delta-io.github.io/delta-rs/usage/loading-table/"
_ICEBERG = "https://py.iceberg.apache.org/reference/pyiceberg/table/"
_TRADER = "https://pypi.org/project/traderharness/1.1.0/"
_FEAST = "https://docs.feast.dev/v0.67-branch/getting-started/concepts/point-in-time-joins"
_ARCTIC = "https://docs.arcticdb.io/latest/api/library/"
_DUCKLAKE = "https://ducklake.select/docs/stable/duckdb/usage/time_travel"
_ANATID = "https://pypi.org/project/anatid/0.4.1/"
_PLUGMEM = "https://pypi.org/project/plugmem/0.12.0/"
_FACTBLOCK = "https://pypi.org/project/factblock/1.0.0a15/"
_MOTHERDUCK = "https://pypi.org/project/mcp-server-motherduck/1.1.0/"
_MEMVARA = "https://pypi.org/project/memvara/0.21.0/"
_GRAPHITI = "https://help.getzep.com/graphiti/working-with-data/searching"
_MEM0 = "https://docs.mem0.ai/open-source/features/metadata-filtering"
_LANGGRAPH = "https://langchain-ai.github.io/langgraph/reference/store/"
_ARKLEON = "https://pypi.org/project/arkleon/0.1.6/"
_VINTAGE = "https://pypi.org/project/vintage-mcp/0.9.0/"
_XTDB = "https://v1-docs.xtdb.com/concepts/bitemporality/"
_LOCKS = "SET enable_external_access = false; SET lock_configuration = true"
_EVENT, _BEST = {"on": "event"}, {"careful": True}
_CREATED = {"created": "available_at", "filtered": True, "store": "duckdb", **_EVENT, **_BEST}
_PUBLISHED = {"on": "available_at", **_BEST}
_SIGHT = {"first_sight": True, **_BEST}


@dataclass(frozen=True)
class _Family:
    """Return a function that creates cards from the values the family shares and those of one configuration."""

    name: str
    adapter: str
    docs: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, name: str, configuration: str, how: str, **options: Any) -> System:
        return System(
            name=name,
            family=self.name,
            configuration=configuration,
            how=how,
            adapter=f"asofbench.adapters.{self.adapter}",
            docs=self.docs,
            options={**self.options, **options},
        )


_view = _Family("duckdb", "duck:Duck", _VIEWS)
_macro = _Family("duckdb", "duck:Duck", _MACROS, {"stamp": "where", **_BEST})
_locked = _Family("duckdb", "duck:Duck", _SECURING, {"locked": True, **_BEST})
_pandas = _Family("pandas", "frames:Frame", _MERGE_ASOF, {"library": "pandas"})
_polars = _Family("polars", "frames:Frame", _JOIN_ASOF, {"library": "polars"})
_delta = _Family("deltalake", "delta:Delta", _DELTA)
_iceberg = _Family("pyiceberg", "iceberg:Iceberg", _ICEBERG)
_arctic = _Family("arcticdb", "arctic:Arctic", _ARCTIC)
_ducklake = _Family("ducklake", "ducklake:DuckLake", _DUCKLAKE, _BEST)
_anatid = _Family("anatid", "anatid_memory:Anatid", _ANATID, _BEST)
_plugmem = _Family("plugmem", "plugmem_memory:Plugmem", _PLUGMEM, _BEST)
_factblock = _Family("factblock", "blocks:FactBlock", _FACTBLOCK, _BEST)
_motherduck = _Family("mcp-server-motherduck", "motherduck:MotherDuck", _MOTHERDUCK, {"stamp": "where", **_BEST})
_memvara = _Family("memvara", "memvara_memory:MemvaraMemory", _MEMVARA, _BEST)
_graphiti = _Family("graphiti", "graphiti_memory:Graphiti", _GRAPHITI)
_mem0 = _Family("mem0", "stamped:Mem0", _MEM0)
_langgraph = _Family("langgraph", "stamped:LangGraph", _LANGGRAPH)
_arkleon = _Family("arkleon", "day_filters:DayFilter", _ARKLEON, {"library": "arkleon"})
_vintage = _Family("vintage-mcp", "day_filters:DayFilter", _VINTAGE, {"library": "vintage"})
_trader = _Family("traderharness", "trader_harness:TraderHarness", _TRADER)
_feast = _Family("feast", "feature_store:Feast", _FEAST)
_xtdb = _Family("xtdb", "xtdb:Xtdb", _XTDB)


def _pitlake(
    name: str,
    configuration: str,
    how: str,
    adapter: str = "ours:Mounted",
    options: Mapping[str, Any] = MappingProxyType({}),
) -> System:
    return System(
        name=name,
        family="pitlake",
        configuration=configuration,
        how=how,
        adapter=f"asofbench.adapters.{adapter}",
        docs="docs/mount.md" if configuration == "default" else "docs/asking.md",
        options={"isolation": "process", **options},
        here=True,
    )


SYSTEMS = (
    _view("DuckDB, event <= T", "pattern", "a view that compares the event's time", stamp="event"),
    _view("DuckDB, available_at <= T", "default", "a view with a WHERE, stamps as a parser reads them", stamp="where"),
    _locked("DuckDB, WHERE, careful", "best", "the same, stamps by the sources' documentation, locked", stamp="where"),
    _view("DuckDB, NULL passes", "pattern", "OR available_at IS NULL", stamp="null", **_BEST),
    _macro("DuckDB, optional T", "pattern", "a macro: as_of IS NULL OR available_at <= as_of", optional=True),
    _view("DuckDB, dates compared", "pattern", "available_at::DATE <= T::DATE", stamp="day", **_BEST),
    _locked("DuckDB, both stamps", "best", "public and loaded by T, locked", stamp="both"),
    _locked("DuckDB, copy that ends at T", "best", "a table made with the WHERE, locked", stamp="where", cut=True),
    _locked(
        "DuckDB, copy that ends at T, first sight",
        "best",
        "the same, and a further delivery of a record counts from its arrival: one expression",
        stamp="sight",
        cut=True,
    ),
    _pandas("pandas merge_asof, event", "default", "merge_asof on the event's time", **_EVENT),
    _pandas("pandas merge_asof, published", "best", "merge_asof on the instant of publication", **_PUBLISHED),
    _pandas(
        "pandas merge_asof, first sight",
        "best",
        "the same, and a further delivery counts from its arrival",
        on="available_at",
        **_SIGHT,
    ),
    _polars("polars join_asof, event", "default", "join_asof on the event's time", **_EVENT),
    _polars("polars join_asof, published", "best", "join_asof on the instant of publication", **_PUBLISHED),
    _polars(
        "polars join_asof, first sight",
        "best",
        "the same, and a further delivery counts from its arrival",
        on="available_at",
        **_SIGHT,
    ),
    _delta("Delta Lake, T as it is", "default", "one load, load_as_version(T)"),
    _delta(
        "Delta Lake, live", "best", "one commit per delivery, as if it had been running all along", live=True, **_BEST
    ),
    _delta("Delta Lake, first sight", "best", "the newest version, with a WHERE by first sight", **_SIGHT),
    _iceberg("Iceberg, T as it is", "default", "one load, snapshot_as_of_timestamp(T)"),
    _iceberg(
        "Iceberg, live", "best", "one snapshot per delivery, as if it had been running all along", live=True, **_BEST
    ),
    _iceberg("Iceberg, first sight", "best", "the newest snapshot, with a WHERE by first sight", **_SIGHT),
    _arctic("ArcticDB, newest up to T", "default", "newest version, date_range up to T", newest=True),
    _arctic("ArcticDB, as_of T", "default", "one load, as_of=T"),
    _arctic(
        "ArcticDB, live", "best", "one snapshot per delivery, as if it had been running all along", live=True, **_BEST
    ),
    _ducklake(
        "DuckLake, AT (TIMESTAMP)",
        "default",
        "one snapshot per delivery and T in every query, as if it had been running all along",
    ),
    _ducklake("DuckLake, attached at T", "best", "the same, the catalog attached with SNAPSHOT_TIME", attached=True),
    _anatid("anatid, as_of T", "best", "one memory per delivery, dated by now=, as if it had been running all along"),
    _plugmem("plugmem, as_of T", "best", "one memory per delivery, as if it had been running all along"),
    _factblock("FactBlock, known when said", "default", "known_at is when it was said, as with --backfill", said=True),
    _factblock("FactBlock, known when loaded", "best", "known_at is when it was learned"),
    _feast("Feast, event", "default", "timestamp_field is the event's time", store="dask", **_EVENT),
    _feast("Feast, filtered", "best", "filter_by_created_timestamp", store="duckdb", filtered=True, **_EVENT, **_BEST),
    _feast("Feast, published is created", "best", "filtered by the instant of publication", **_CREATED),
    _feast("Feast, published", "best", "timestamp_field is the instant of publication", store="duckdb", **_PUBLISHED),
    _feast(
        "Feast, first sight",
        "best",
        "timestamp_field is the instant of publication, and of a further delivery its arrival",
        store="duckdb",
        on="available_at",
        **_SIGHT,
    ),
    _memvara(
        "memvara, as_of T", "best", "one claim per delivery, recorded when it arrived, valid from its publication"
    ),
    _graphiti("Graphiti, valid at T", "default", "edges valid from their publication, searched by valid_at", **_BEST),
    _graphiti("Graphiti, first sight", "best", "the same, and a further delivery is valid from its arrival", **_SIGHT),
    _mem0("mem0, newest", "default", "one memory per record, which a further delivery replaces", unbounded=True),
    _mem0("mem0, filtered, first sight", "best", "a memory per delivery, filtered by its stamp", **_SIGHT),
    _langgraph("LangGraph store, newest", "default", "one item per record, which a delivery replaces", unbounded=True),
    _langgraph(
        "LangGraph store, filtered, first sight", "best", "an item per delivery, filtered by its stamp", **_SIGHT
    ),
    _arkleon("arkleon, as_of", "default", "its filter by the day of filing, on made facts", **_BEST),
    _vintage(
        "vintage-mcp, visible_at", "default", "its filter by the day on which a row was known, on made rows", **_BEST
    ),
    _motherduck("motherduck MCP, read-only", "default", "an agent's SQL on a read-only file, with a view to query"),
    _motherduck("motherduck MCP, secured", "best", "the same, with DuckDB's settings as --init-sql", init=_LOCKS),
    _motherduck(
        "motherduck MCP, copy, first sight",
        "best",
        "secured, and the file holds only a copy that ends at T, by first sight",
        init=_LOCKS,
        stamp="sight",
        cut=True,
    ),
    _trader("TraderHarness, get_fundamentals", "best", "the tool its agents call, by the date of publication", **_BEST),
    _xtdb(
        "XTDB, live",
        "default",
        "put without a valid time, a transaction per delivery, as if it had been running all along",
        live=True,
        **_BEST,
    ),
    _xtdb("XTDB, valid at T", "best", "valid from its publication, of a further delivery from its arrival", **_SIGHT),
    _xtdb(
        "XTDB, filtered, first sight",
        "best",
        "a document per delivery, filtered by its exact instant, because valid times are milliseconds",
        filtered=True,
        **_SIGHT,
    ),
    _pitlake("pitlake, gate", "best", "gate, publishes, sealed sessions", "ours:Pitlake", _BEST),
    _pitlake("pitlake, mount", "default", "mounted by `pitlake.mount` at each delivery, its questions answered"),
    _pitlake("pitlake, mount once", "default", "all rows in one table, mounted today", options={"once": True}),
)


def _control(name: str, how: str, **options: Any) -> System:
    return System(
        name=f"control: {name}",
        family="control",
        configuration="control",
        how=how,
        adapter="asofbench.adapters.controls:Oracle",
        options={"careful": True, **options},
        here=True,
        control=True,
    )


CONTROLS = (
    _control("knows all", "must be right in every case"),
    _control("shows everything", "must leak in every case", off="everything"),
    _control("two days early", "must leak", off="early"),
    _control("an instant late", "must withhold in every case", off="late"),
    _control("compares stamps", "leaks rewrites", off="stamps"),
    _control("compares stamps, read plainly", "leaks what a loader decides too", off="stamps", careful=False),
    _control("answers nothing", "must withhold in every case", off="silent"),
    _control("refuses everything", "must be refused in every case", off="failing"),
)

BY_NAME = {system.name: system for system in (*SYSTEMS, *CONTROLS)}


def found(name: str) -> System:
    """Return a system by its name here, or one's own by `file.py:Class`, `module:Class` or the name of an entry point.

    Raises BadTarget if it can't be imported, or lacks what an adapter needs.
    """
    if name in BY_NAME:
        return BY_NAME[name]
    declared = {point.name: point.value for point in entry_points(group=ENTRY_POINTS)}
    adapter = declared.get(name, name)
    if ":" not in adapter:
        raise BadTarget(f"there is no system {name!r}: name one of the table, an entry point, or file.py:Class")
    if os.getcwd() not in sys.path:  # noqa: PTH109 - as it stands on sys.path
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    card = System(name=name, family=name, configuration="own", how="an adapter of its user", adapter=adapter, here=True)
    try:
        kind = card.adapter_class()
    except Exception as problem:  # noqa: BLE001 - a file of somebody else fails as it likes
        raise BadTarget(f"{name} can't be imported: {type(problem).__name__}: {problem}") from None
    if missing := [method for method in ("load", "ask", "close") if not callable(getattr(kind, method, None))]:
        raise BadTarget(f"{name} has no {' and no '.join(missing)}: extend asofbench.Visible or asofbench.Adapter")
    if left := sorted(getattr(kind, "__abstractmethods__", ())):
        raise BadTarget(f"{name} has no {' and no '.join(left)}, which {kind.__mro__[1].__name__} needs")
    return replace(card, options=dict(getattr(kind, "options", {})))
