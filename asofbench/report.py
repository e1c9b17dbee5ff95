"""Results as JSON and as Markdown. page.py makes the page with the picture from the same report."""

import hashlib
import os
import platform
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from asofbench.generate import CLASSES, FROZEN, GROUPS, HERE, group
from asofbench.grading import CAUGHT, LEAK, REFUSED, UNABLE, WITHHELD, wilson
from asofbench.run import Outcome

FAILURES = (LEAK, REFUSED, WITHHELD)
"""From the worst: a class counts as the worst of its cases."""
HISTORIES = "random_history"
COLUMNS = (
    "system", "configuration", *GROUPS, "leaks in", "withholds in", "refuses in", "histories", "ms to load",
    "ms per T", "ms per question", "KiB", "instants", "load s", "ms per T of 100,000", "MiB",
)  # fmt: skip
WORDS = (
    "A class is right if all its cases are: k of n classes that could be asked, by what decides them. Store: how "
    "it dates and keeps rows. Loader: whether the source's stamps were read by its documentation, before the "
    "store was asked. Door: what its interface shows. Clock: whether it tells today's date, which shows no data "
    "and counts as no leak. Leak: something shown that nobody could know as of the instant. Withheld: something "
    "not shown that was public. Refused: an ordinary question answered by an error. The cases of a class are "
    "fillings of one scenario: that they agree is a test of stability, not evidence. Only the random histories "
    "are drawn apart from each other, so only they have an interval (Wilson's, 95 %). ms: medians of loading a "
    "world of some 100 rows, of the first question at an instant, and of further ones; KiB: on disk after loading, 0 "
    "in memory. Instants: how many of a thousand, over 100,000 rows in 50 deliveries, were right, of those that two "
    "minutes were enough for; with the seconds of loading, the median of one instant, and the size on disk."
)
LETTERS = (
    "L leaks, W withholds, R refuses, of all cases of the class; a dot: right; a dash: the system has nothing to ask "
    "this of; empty: not run. Where fillings of a class differ, the answer depends on more than the class."
)


def results(outcomes: Sequence[Outcome], seed: str, differences: Sequence[str]) -> dict[str, Any]:
    """Return the report of a run as JSON-compatible values: systems in alphabetical order, controls last."""
    ran = sorted(
        (outcome for outcome in outcomes if outcome.verdicts or outcome.large),
        key=lambda outcome: (outcome.system.control, outcome.system.name.casefold()),
    )
    systems = [_system(outcome) for outcome in ran]
    classes = {verdict.kind for outcome in ran for verdict in outcome.verdicts}
    model = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.+)", model.read_text()) if model.exists() else []
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seed": seed,
        "frozen": not differences,
        "graded_by": hashlib.sha256(FROZEN.read_bytes()).hexdigest(),
        "differences": list(differences),
        "machine": {
            "system": platform.system(),
            "machine": platform.machine(),
            "processor": names[0] if names else platform.processor(),
            "processors": os.cpu_count(),
            "load": round(os.getloadavg()[0]),
            "python": platform.python_version(),
        },
        "systems": systems,
        "not_run": [
            {"name": outcome.system.name, "why": outcome.problem} for outcome in outcomes if outcome not in ran
        ],
        "classes": {name: class_of(name, systems) for name in CLASSES if name in classes or not ran},
    }


def _system(outcome: Outcome) -> dict[str, Any]:
    verdicts, system = outcome.verdicts, outcome.system
    counters: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        counters.setdefault(verdict.kind, Counter())[verdict.verdict] += 1
    by_class = {name: dict(counters[name]) for name in CLASSES if name in counters}
    module = system.adapter.rpartition(":")[0].rpartition("asofbench.adapters.")[2]
    file = Path(module) if module.endswith(".py") else HERE / "adapters" / f"{module}.py"
    # Cases of a class that failed in the same way are one failure; `first` is one of them.
    alike: dict[tuple[str, str, str], list[str]] = {}
    for failed_verdict in verdicts:
        if failed_verdict.verdict in FAILURES:
            # The reason without numbers that differ between cases.
            why = re.sub(r"\d[\d.:\-+, \]]*", "… ", " ".join(failed_verdict.why.split()))[:90].strip()
            alike.setdefault((failed_verdict.kind, failed_verdict.verdict, why), []).append(failed_verdict.case)
    return {
        "name": system.name,
        "family": system.family,
        "configuration": system.configuration,
        "how": system.how,
        "docs": system.docs,
        "control": system.control,
        "versions": dict(outcome.versions),
        "adapter": hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "",
        "seconds": round(outcome.seconds, 1),
        "cases": len(verdicts),
        **summary_of(by_class),
        "costs": {
            name: median(values) * (1000 if name != "bytes" else 1 / 1024)
            for name, values in outcome.costs.items()
            if values
        },
        "controls": {"passed": sum(verdict.control for verdict in verdicts), "of": len(verdicts)},
        "by_class": by_class,
        "large": dict(outcome.large),
        "failures": [
            {"class": name, "verdict": verdict, "why": why, "cases": len(case_ids), "first": case_ids[0]}
            for (name, verdict, why), case_ids in alike.items()
        ],
    }


def summary_of(by_class: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    """Return what follows from the outcomes of the classes: counts by what decides them, and failures by verdict."""
    found = {name: outcome_of(counts) for name, counts in by_class.items()}
    scored = [name for name in found if found[name] != UNABLE]
    histories = by_class.get(HISTORIES, {})
    right, number = histories.get(CAUGHT, 0), sum(histories.values()) - histories.get(UNABLE, 0)
    low, high = wilson(right, number)
    return {
        "groups": {
            name: {
                "right": sum(found[kind] == CAUGHT and group(kind) == name for kind in scored),
                "of": sum(group(kind) == name for kind in scored),
            }
            for name in GROUPS
        },
        **{
            verdict: [kind for kind in scored if found[kind] == verdict and group(kind) != "clock"]
            for verdict in FAILURES
        },
        "unstable": [kind for kind in scored if len(set(by_class[kind]) - {UNABLE}) > 1 and kind != HISTORIES],
        "histories": {"right": right, "of": number, "low": low, "high": high},
    }


def outcome_of(counts: Mapping[str, int]) -> str:
    """Return the worst outcome of a class's cases; n/a if none could be asked."""
    return next((verdict for verdict in (*FAILURES, CAUGHT) if counts.get(verdict)), UNABLE)


def class_of(name: str, systems: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what decides a class, and the systems that fail in it, without controls."""
    real = [system for system in systems if not system["control"]]
    failing = [system["name"] for system in real if outcome_of(system["by_class"].get(name, {})) in FAILURES]
    return {"group": group(name), "failed_by": failing, "systems": len(real)}


def markdown(report: Mapping[str, Any]) -> str:
    """Return the results as a Markdown page."""
    real = list(enumerate((system for system in report["systems"] if not system["control"]), 1))
    frozen = "cases and graders as frozen" if report["frozen"] else f"NOT AS FROZEN: {'; '.join(report['differences'])}"
    machine = "{system} on {machine} ({processor}), {processors} processors, load {load}, Python {python}"
    where = machine.format(**report["machine"])
    lines = [
        "# AsOfBench: results",
        "",
        f"Run on {report['date'][:10]}, seed {report['seed']}, {frozen}. {where}.",
        "",
        WORDS,
        "",
        *table(report),
        "",
        "In how many cases each system fails in a class:",
        "",
        "| class | decided by | " + " | ".join(str(place) for place, _ in real) + " |",
        "| --- | --- |" + " ---: |" * len(real),
        *(
            f"| {name} | {its['group']} | {' | '.join(_cell(system['by_class'].get(name, {})) for _, system in real)} |"
            for name, its in report["classes"].items()
        ),
        "",
        LETTERS,
        "",
        *(f"{place}. {_configured(system)}" for place, system in real),
        "",
    ]
    if report["not_run"]:
        lines += ["Not run:", "", *(f"- {system['name']}: {_why(system)}" for system in report["not_run"]), ""]
    lines += ["## Failures", ""]
    for _, system in real:
        kinds = [
            f"- {failure['class']}: {failure['verdict']}, {failure['why']} ({failure['cases']})"
            for failure in system["failures"]
        ]
        lines += [f"**{system['name']}**", "", *(kinds or ["- none"]), ""]
    return "\n".join(lines)


def table(report: Mapping[str, Any]) -> list[str]:
    """Return one line per system as a Markdown table."""
    head = ["| " + " | ".join(COLUMNS) + " |", "| --- | --- |" + " ---: |" * (len(COLUMNS) - 2)]
    lines = ["| " + " | ".join(cells(system)) + " |" for system in report["systems"]]
    return [*head, *lines, *(f"\nNot run: {system['name']}: {_why(system)}" for system in report["not_run"])]


def cells(system: Mapping[str, Any]) -> list[str]:
    """Return the cells of COLUMNS."""
    groups = (system["groups"][name] for name in GROUPS)
    known = system["costs"]
    costs = (f"{known[name]:.1f}" if name in known else "–" for name in ("load", "instant", "question", "bytes"))
    histories = system["histories"]
    share = f"{histories['right']} of {histories['of']} ({histories['low']:.0%}–{histories['high']:.0%})"
    number = len(system["by_class"])
    partly = f" (only {number} of {len(CLASSES)} classes)" if 0 < number < len(CLASSES) else ""
    large_cells = ["–"] * 4
    if large := system["large"]:
        right = f"{large['verdicts'].get(CAUGHT, 0)} of {large['instants']}"
        large_cells = [right, f"{large['load']:.1f}", f"{large['ms']:.0f}", f"{large['bytes'] / 2**20:.1f}"]
    return [
        system["name"] + partly,
        system["configuration"],
        *(f"{part['right']} of {part['of']}" if part["of"] else "–" for part in groups),
        *(str(len(system[verdict])) for verdict in (LEAK, WITHHELD, REFUSED)),
        share if histories["of"] else "–",
        *costs,
        *large_cells,
    ]


def _why(system: Mapping[str, str]) -> str:
    return " ".join(system["why"].split())[-200:]


def _configured(system: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in system["versions"].items()) or "of this checkout"
    docs = f" Configured as in {system['docs']}." if system["docs"] else ""
    runs = [
        f"{run['classes']}{' again (' + ', '.join(run['again']) + ')' if run.get('again') else ''} on {run['date']},"
        f" graded by {run['graded_by'][:8]}"
        for run in system.get("runs", ())
    ]
    when = f" Classes run: {'; '.join(runs)}." if runs else ""
    return f"{system['name']} ({versions}): {system['how']}.{docs}{when}"


def _cell(counts: Mapping[str, int]) -> str:
    letters = [f"{verdict[0].upper()}{counts[verdict]}" for verdict in FAILURES if counts.get(verdict)]
    number = sum(counts.values())
    if not counts:
        return ""
    return f"{' '.join(letters)} of {number}" if letters else "–" if counts.get(UNABLE) else "·"
