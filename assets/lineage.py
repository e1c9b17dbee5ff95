"""Column lineage for Dagster: the graph properties behind a dataset's columns, from its own queries.

A column that no query returns under its own name has no lineage here, because it is computed from others or the run.
"""

import re

import dagster as dg

from assets.extraction import Extractor

_LABELLED = re.compile(r"[(\[](\w+):(\w+)")
_PROPERTY = re.compile(r"\b(\w+)\.(\w+)")
_OPEN, _SHUT = "([{", ")]}"


def column_lineage(extractor: Extractor, source: dg.AssetKey) -> dg.TableColumnLineage:
    """Return, for each column that a query returns by name, the properties in its expression: Label.property."""
    reads: dict[str, set[str]] = {}
    for query in extractor.queries:
        labels = dict(_LABELLED.findall(query))
        # The expressions of the last RETURN, split at commas outside of brackets.
        parts, depth = [""], 0
        for mark in query.rpartition("RETURN")[2]:
            depth += (mark in _OPEN) - (mark in _SHUT)
            if mark == "," and not depth:
                parts.append("")
            else:
                parts[-1] += mark
        for expression in parts:
            value, _, name = map(str.strip, expression.rpartition(" AS "))
            if name in extractor.dataset.business_columns:
                read = {f"{labels[node]}.{prop}" for node, prop in _PROPERTY.findall(value) if node in labels}
                reads[name] = reads.get(name, set()) | read
    dependencies = {
        name: [dg.TableColumnDep(source, prop) for prop in sorted(read)] for name, read in reads.items() if read
    }
    return dg.TableColumnLineage(dependencies)
