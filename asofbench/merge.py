"""Joins the results of several runs: of other systems, or of other classes of the same ones."""

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from asofbench.generate import CLASSES
from asofbench.report import class_of, summary_of
from asofbench.systems import BadTarget

Report = Mapping[str, Any]


def merged(reports: Iterable[Report]) -> dict[str, Any]:
    """Return one report. What it says of the machine is that of the last one; it is as frozen only if all are. Each
    system says when its classes were run, by which adapter, and which hashes graded them. A later run of a system
    replaces the classes that it has, and says which.

    Raises BadTarget without a report, and if the seeds differ.
    """
    report = reduce(_joined, reports, dict[str, Any]())
    if not report:
        raise BadTarget("there is nothing to merge: name the results.json of two runs")
    return report


def _joined(before: Report, after: Report) -> dict[str, Any]:
    if not before:
        return {**after, "systems": [_with_runs(system, after) for system in after["systems"]]}
    if before["seed"] != after["seed"]:
        raise BadTarget(f"the runs have the seeds {before['seed']} and {after['seed']}: merge runs of one seed")
    systems = {system["name"]: system for system in before["systems"]}
    for system in after["systems"]:
        new = _with_runs(system, after)
        systems[new["name"]] = _added(systems[new["name"]], new) if new["name"] in systems else new
    ordered = sorted(systems.values(), key=lambda system: (system["control"], system["name"].casefold()))
    asked = {name for system in ordered for name in system["by_class"]}
    absent = {entry["name"]: entry for entry in (*before["not_run"], *after["not_run"]) if entry["name"] not in systems}
    classes = {name: class_of(name, ordered) for name in CLASSES if name in asked}
    changed = sorted({*before["differences"], *after["differences"]})
    frozen = {"frozen": not changed, "differences": changed}
    return {**after, **frozen, "systems": ordered, "not_run": list(absent.values()), "classes": classes}


def _with_runs(system: Report, report: Report) -> dict[str, Any]:
    run = {
        "adapter": system["adapter"],
        "date": report["date"][:10],
        "graded_by": report["graded_by"],
        "load": report["machine"]["load"],
        "classes": len(system["by_class"]),
    }
    return {"runs": [run], "large": {}, **system}


def _added(before: Report, after: Report) -> dict[str, Any]:
    """Return a system with the classes of both runs, those of the later one where both have them. Costs in small worlds
    are those of the run with more cases. Controls of replaced classes count as passed before, so that failed ones stay.
    """
    again = [name for name in before["by_class"] if name in after["by_class"]]
    large = {"large": after["large"] or before["large"]}
    if again and len(again) == len(before["by_class"]):
        return {**after, **large, "runs": [*(run for run in before["runs"] if not run["classes"]), *after["runs"]]}
    replaced = sum(sum(before["by_class"][name].values()) for name in again)
    [*earlier, latest] = after["runs"]
    counts = {**before["by_class"], **after["by_class"]}
    by_class = {name: counts[name] for name in CLASSES if name in counts}
    return {
        **max(before, after, key=lambda system: system["cases"]),
        **large,
        "adapter": after["adapter"],
        "seconds": round(before["seconds"] + after["seconds"], 1),
        "cases": before["cases"] + after["cases"] - replaced,
        "controls": {
            name: max(0, before["controls"][name] - replaced) + after["controls"][name] for name in ("passed", "of")
        },
        "runs": [*before["runs"], *earlier, {**latest, "again": again} if again else latest],
        "by_class": by_class,
        "failures": [*(each for each in before["failures"] if each["class"] not in again), *after["failures"]],
        **summary_of(by_class),
    }
