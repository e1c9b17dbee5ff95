"""Runs a dataset's expectations over a run's staged rows with Great Expectations, before anything is published.

`pitlake.lake.publishing.expectations` generates the expectations. The library takes seconds to import, so it is
imported for the first rows. `expected` is the audit that `assets.factory` passes to the kernel. It checks the rows that
the kernel accepted a second time, so that a row on which the two differ is never published.
"""

import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from pitlake.lake.publishing.audit import MOST_EXAMPLES, CheckResult
from pitlake.lake.publishing.expectations import Rule, rules, window_of
from pitlake.lake.publishing.stage import Staged
from pitlake.lake.storage.files import take_rows

BLOCKING, WARNING = "expectations", "expectation_warnings"
# Examples are selected from this many failing rows, because the library is slow to list all rows of a large failure.
SEARCHED_ROWS = 10_000


def expected(staged: Staged, observed_at: datetime) -> tuple[CheckResult, CheckResult]:
    """Check staged rows against the contract. Return one result for blocking rules and one for warnings.

    A record that was staged twice counts as one, because it is published once.
    """
    return judge(once(staged), rules(staged.dataset, window_of(staged.partitions, observed_at)))


def judge(rows: pa.Table, expectations: Sequence[Rule]) -> tuple[CheckResult, CheckResult]:
    """Check rows against rules. Return one result for blocking rules and one for warnings."""
    broken = validate(rows, expectations) if rows.num_rows else {}
    return _result(BLOCKING, expectations, rows, broken), _result(WARNING, expectations, rows, broken)


def once(staged: Staged) -> pa.Table:
    """Return the staged rows without repeated records."""
    if not len(staged.duplicates.again):
        return staged.rows
    return take_rows(staged.rows, np.delete(np.arange(staged.rows.num_rows), staged.duplicates.again))


def validate(rows: pa.Table, expectations: Sequence[Rule]) -> dict[str, int]:
    """Return the number of rows that break each broken rule.

    A broken rule about the whole table counts as one row.
    """
    outcomes = _results(frame(rows), expectations, {"result_format": "BASIC"})
    return {
        outcome.expectation_config.meta["rule"]: int(outcome.result.get("unexpected_count", 1)) or 1
        for outcome in outcomes
        if not outcome.success
    }


def frame(rows: pa.Table) -> Any:
    """Return rows as a pandas frame for the rules. Nulls change no types, and strings and lists keep Arrow types."""
    return rows.to_pandas(types_mapper=_pandas_type, date_as_object=False, split_blocks=True)


def expectation(rule: Rule) -> Any:
    severity = {"blocking": "critical", "warning": "warning"}[rule.severity]
    return getattr(library().expectations, rule.kind)(**rule.arguments, severity=severity, meta={"rule": rule.name})


def _results(data: Any, expectations: Sequence[Rule], form: Mapping[str, Any]) -> list[Any]:
    """Evaluate rules with Great Expectations, but without its data sources, which hash and keep every frame."""
    configurations = [expectation(rule).configuration for rule in expectations]
    from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
    from great_expectations.validator.validator import Validator

    validator = Validator(PandasExecutionEngine(batch_data_dict={"run": data}), data_context=_context())
    settings = {"result_format": {"partial_unexpected_count": 0, **form}, "catch_exceptions": True}
    # This warning is about how the library compares instants.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return list(validator.graph_validate(configurations, runtime_configuration=settings))


def _result(name: str, expectations: Sequence[Rule], rows: pa.Table, broken: Mapping[str, int]) -> CheckResult:
    severity = "blocking" if name == BLOCKING else "warning"
    judged = [rule for rule in expectations if rule.severity == severity]
    counts = {rule.name: broken[rule.name] for rule in judged if rule.name in broken}
    failed = [rule for rule in judged if rule.name in counts]
    # The evidence of some rows that break the rules; rules about the whole table have none.
    locators: dict[str, None] = {}
    for start in range(0, rows.num_rows if failed else 0, SEARCHED_ROWS):
        form = {"result_format": "COMPLETE", "unexpected_index_column_names": ["evidence"]}
        for outcome in _results(frame(rows.slice(start, SEARCHED_ROWS)), failed, form):
            locators |= {str(place["evidence"]): None for place in outcome.result.get("unexpected_index_list") or ()}
        if len(locators) >= MOST_EXAMPLES:
            break
    return CheckResult(
        name=name,
        passed=not counts,
        severity="blocking" if name == BLOCKING else "warning",
        facts={"rows": rows.num_rows, "expectations": len(judged), "broken": len(counts), **counts},
        examples=tuple(locators)[:MOST_EXAMPLES],
    )


def _pandas_type(kind: pa.DataType) -> Any:
    import pandas as pd

    if pa.types.is_list(kind):
        return pd.ArrowDtype(kind)
    return {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}.get(kind)


@cache
def _context() -> Any:
    """Return a context with settings only."""
    context = library().get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    return context


@cache
def library() -> Any:
    """Return Great Expectations, imported once."""
    # This warning is about modules that the library imports.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        import great_expectations

    return great_expectations
