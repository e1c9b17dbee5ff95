"""Systems that run here, including pitlake, and the systems that each class catches."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from asofbench.generate import CLASSES
from asofbench.grading import LEAK, UNABLE, WITHHELD
from asofbench.report import FAILURES
from asofbench.systems import BY_NAME, ENVIRONMENTS, SYSTEMS
from tests.every import every

ROOT = Path(__file__).resolve().parents[2]
HERE = ("DuckDB, event <= T", "DuckDB, optional T", "DuckDB, both stamps", "Delta Lake, T as it is")
BY_LOAD = {"back_dated", "vendor_rewrite", "split_adjusted", "random_history"}
"""The classes that only the time of the load can decide."""


def failing(verdicts, verdict=LEAK):
    return {each.kind for each in verdicts if each.verdict == verdict}


def test_every_class_has_a_system_that_fails_and_controls_that_pass(scored):
    verdicts = [each for name in HERE for each in scored(name)]
    verdicts += scored("Iceberg, first sight", ("bars",), ("erasure",))
    assert {each.kind for each in verdicts if each.verdict in FAILURES} == set(CLASSES)
    assert every(each.control for each in verdicts)


def test_a_careful_view_leaks_only_by_load_time_and_engine_classes(scored):
    verdicts = scored("DuckDB, WHERE, careful", ("news", "bars"))
    assert BY_LOAD | {"machine_clock"} <= failing(verdicts)
    assert failing(verdicts) <= BY_LOAD | {"machine_clock", "file_statistics", "row_counts", "sql_escape"}
    assert failing(verdicts, WITHHELD) == set()


def test_filtering_by_both_stamps_withholds_the_honest_backfill(scored):
    verdicts = scored("DuckDB, both stamps", ("news",))
    assert failing(verdicts, WITHHELD) == {"honest_backfill", "replay", "random_history"}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_joined_by_publication_leak_by_load_time_and_lack_an_engine(scored, library):
    verdicts = scored("{}, published".format({"pandas": "pandas merge_asof", "polars": "polars join_asof"}[library]))
    assert failing(verdicts) == BY_LOAD
    assert failing(verdicts, UNABLE) == {
        "catalogue_listing", "error_text", "file_statistics", "hostile_session", "machine_clock", "row_counts",
        "sql_escape",
    }  # fmt: skip


def test_pitlake_leaks_nothing_and_withholds_nothing(scored):
    verdicts = scored("pitlake, gate", ("bars", "news"))
    assert {each.kind for each in verdicts if each.verdict != "caught"} == failing(verdicts, UNABLE) == {"erasure"}
    assert Counter(each.control for each in verdicts) == {True: len(verdicts)}
    assert {"sql_escape", "back_dated", "honest_backfill", "any_order"} <= {each.kind for each in verdicts}


BY_OBSERVATION = ("start_stamped", "snapshot_endpoint", "late_split", "retraction")


def test_a_table_mounted_at_each_delivery_fails_no_observation_class(scored):
    verdicts = scored("pitlake, mount", ("bars",), BY_OBSERVATION)
    assert {each.kind for each in verdicts if each.verdict == "caught"} == set(BY_OBSERVATION)
    assert failing(verdicts) == set()
    assert failing(scored("pitlake, mount once", ("bars",), BY_OBSERVATION)) == {"snapshot_endpoint", "late_split"}


def test_the_core_imports_neither_pitlake_nor_any_library():
    core = "import asofbench.__main__, asofbench.worker, asofbench.adapters.controls, sys\n"
    code = core + "assert not {'pitlake', 'duckdb', 'pandas', 'numpy'} & set(sys.modules)"
    environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_system_is_pinned_and_links_its_documentation():
    for system in SYSTEMS:
        assert system.docs
        assert system.here or every("==" in package for package in ENVIRONMENTS[system.family])
    assert len({system.name for system in SYSTEMS}) == len(SYSTEMS) == len(BY_NAME) - 8


def test_systems_with_an_optional_instant_leak_if_the_caller_omits_the_instant(scored):
    holds = failing(scored("DuckDB, WHERE, careful", ("news", "bars"))) | failing(scored("pitlake, gate", ("news",)))
    assert not {"forgotten_cutoff", "missing_time"} & holds
    assert {"forgotten_cutoff", "missing_time"} <= failing(scored("DuckDB, optional T"))
    assert "forgotten_cutoff" in failing(scored("Delta Lake, live", ("news",)))


@pytest.mark.parametrize("name", ["todays_universe", "todays_identifier", "snapshot_endpoint"])
def test_dating_by_the_sources_documentation_avoids_todays_list_and_ticker_leaks(scored, name):
    """Times read literally leak. Read by the source's documentation, or dated by the store's writes, they do not."""
    assert name in failing(scored("DuckDB, available_at <= T"))
    for right in ("DuckDB, WHERE, careful", "DuckDB, both stamps", "Delta Lake, live", "pitlake, gate"):
        verdicts = [each for each in scored(right, ("bars", "news")) if each.kind == name]
        assert verdicts
        assert [each for each in verdicts if each.verdict != "caught"] == []
