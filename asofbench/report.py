"""Results as JSON and as Markdown. page.py makes the page with the picture from the same report."""

import hashlib
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from asofbench.generate import CLASSES, FROZEN
from asofbench.grading import CAUGHT, LEAK, PLACES, REFUSED, UNABLE, WITHHELD, Verdict, wilson
from asofbench.run import Outcome

FAILURES = (LEAK, WITHHELD, REFUSED)
CANARIES = "canaries in answers, errors, logs"
COLUMNS = ("system", "configuration", "cases", *FAILURES, "calls touching the future", CANARIES, "controls")
WORDS = (
    "Leak: something shown that nobody could know as of the instant. Withheld: something not shown that was public. "
    "Refused: an ordinary question answered by an error. Shares of the cases that could be put to the system, and of "
    "its calls, with Wilson's 95 % interval."
)


def results(outcomes: Sequence[Outcome], seed: str, differences: Sequence[str]) -> dict[str, Any]:
    """Return the report of a run as JSON-compatible values."""
    systems = [_system(outcome) for outcome in outcomes if outcome.verdicts]
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "seed": seed,
        "frozen": not differences,
        "graded_by": hashlib.sha256(FROZEN.read_bytes()).hexdigest(),
        "differences": list(differences),
        "machine": _machine(),
        "systems": systems,
        "not_run": [
            {"name": outcome.system.name, "why": outcome.problem} for outcome in outcomes if not outcome.verdicts
        ],
        "classes": {name: _class(name, systems) for name in CLASSES},
    }


def _machine() -> dict[str, Any]:
    python, processors = platform.python_version(), os.cpu_count()
    return {"system": platform.system(), "machine": platform.machine(), "processors": processors, "python": python}


def _system(outcome: Outcome) -> dict[str, Any]:
    verdicts, system = outcome.verdicts, outcome.system
    seen = Counter(place for verdict in verdicts for place in verdict.seen)
    able = [verdict for verdict in verdicts if verdict.verdict != UNABLE]
    return {
        "name": system.name,
        "family": system.family,
        "configuration": system.configuration,
        "how": system.how,
        "docs": system.docs,
        "control": system.control,
        "versions": dict(outcome.versions),
        "seconds": outcome.seconds,
        "cases": len(verdicts),
        "asked": len(able),
        **{name: _share(able, name) for name in (CAUGHT, *FAILURES)},
        "calls": _touching(verdicts),
        "canaries": {place: seen[place] for place in PLACES},
        "controls": {"passed": sum(verdict.control for verdict in verdicts), "of": len(verdicts)},
        "by_class": _counts(verdicts, "kind"),
        "by_source": _counts(verdicts, "source"),
        "failures": _failures(verdicts),
    }


def _share(able: Sequence[Verdict], name: str) -> dict[str, Any]:
    hits = sum(verdict.verdict == name for verdict in able)
    low, high = wilson(hits, len(able))
    return {"cases": hits, "share": hits / len(able) if able else 0.0, "low": low, "high": high}


def _touching(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return how many calls returned data from after their instant; agents' calls are scored by this."""
    calls, touched = sum(verdict.calls for verdict in verdicts), sum(verdict.touched for verdict in verdicts)
    low, high = wilson(touched, calls)
    return {"of": calls, "touched": touched, "share": touched / calls if calls else 0.0, "low": low, "high": high}


def _counts(verdicts: Iterable[Verdict], what: str) -> dict[str, dict[str, int]]:
    counters: dict[str, Counter[str]] = {}
    for verdict in verdicts:
        counters.setdefault(getattr(verdict, what), Counter())[verdict.verdict] += 1
    return {name: dict(counts) for name, counts in counters.items()}


def _failures(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Return every failure, grouping cases of a class that failed in the same way; `first` is one of them."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for failed_verdict in verdicts:
        if failed_verdict.verdict in FAILURES:
            alike.setdefault((failed_verdict.kind, failed_verdict.verdict, _kind(failed_verdict.why)), []).append(
                failed_verdict.case
            )
    return [
        {"class": name, "verdict": verdict, "why": why, "cases": len(case_ids), "first": case_ids[0]}
        for (name, verdict, why), case_ids in alike.items()
    ]


def _class(name: str, systems: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the systems that fail in a class, without controls."""
    real = [system for system in systems if not system["control"]]
    failing = [
        system["name"] for system in real if any(system["by_class"].get(name, {}).get(verdict) for verdict in FAILURES)
    ]
    return {"failed_by": failing, "systems": len(real)}


def markdown(report: Mapping[str, Any]) -> str:
    """Return the results as a Markdown page."""
    real = _real(report)
    lines = [
        "# AsOfBench: results",
        "",
        _run_on(report),
        "",
        WORDS,
        "",
        "| " + " | ".join(COLUMNS) + " |",
        "| --- | --- | ---: | --- | --- | --- | --- | --- | ---: |",
        *(_line(system) for system in report["systems"]),
        "",
        "Which classes each system fails in, and in how many cases:",
        "",
        "| class | " + " | ".join(str(place) for place, _ in real) + " |",
        "| --- |" + " ---: |" * len(real),
        *(_row(name, [system for _, system in real]) for name in report["classes"]),
        "",
        "L leaks, W withholds, R refuses; a dot: right; a dash: the system has nothing to ask this of. "
        + _widest(system for _, system in real),
        "",
        *(f"{place}. {_configured(system)}" for place, system in real),
        "",
    ]
    if report["not_run"]:
        lines += [
            "Not run:",
            "",
            *(f"- {system['name']}: {' '.join(system['why'].split())[:200]}" for system in report["not_run"]),
        ]
        lines.append("")
    return "\n".join([*lines, *_failed(report)])


def _run_on(report: Mapping[str, Any]) -> str:
    frozen = "cases and graders as frozen" if report["frozen"] else f"NOT AS FROZEN: {'; '.join(report['differences'])}"
    where = "{system} on {machine}, {processors} processors, Python {python}".format(**report["machine"])
    return f"Run on {report['date'][:10]}, seed {report['seed']}, {frozen}. {where}."


def _configured(system: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in system["versions"].items()) or "of this checkout"
    return f"{system['name']} ({versions}): {system['how']}. Configured as in {system['docs']}."


def _failed(report: Mapping[str, Any]) -> list[str]:
    lines = ["## Failures", ""]
    for _, system in _real(report):
        kinds = [
            f"- {failure['class']}: {failure['verdict']}, {failure['why']} ({failure['cases']})"
            for failure in system["failures"]
        ]
        lines += [f"**{system['name']}**", "", *(kinds or ["- none"]), ""]
    return lines


def _kind(why: str) -> str:
    """Return a reason without numbers that differ between cases."""
    return re.sub(r"\d[\d.:\-+, \]]*", "… ", " ".join(why.split()))[:90].strip()


def _real(report: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    return list(enumerate((system for system in report["systems"] if not system["control"]), 1))


def _line(system: Mapping[str, Any]) -> str:
    canaries = ", ".join(str(count) for count in system["canaries"].values())
    controls = f"{system['controls']['passed']}/{system['controls']['of']}"
    touched = _told(f"{system['calls']['touched']} of {system['calls']['of']}", system["calls"])
    shares = (_told(system[name]["cases"], system[name]) for name in FAILURES)
    cells = [system["name"], system["configuration"], system["asked"], *shares, touched, canaries, controls]
    return "| " + " | ".join(map(str, cells)) + " |"


def _told(count: int | str, share: Mapping[str, Any]) -> str:
    return f"{count} ({share['share']:.1%}; {share['low']:.1%}–{share['high']:.1%})"


def _widest(systems: Iterable[Mapping[str, Any]]) -> str:
    """Return the confidence intervals of none and all of a class's cases, for each number of cases."""
    counts = sorted(
        {sum(counts_of_class.values()) for system in systems for counts_of_class in system["by_class"].values()}
    )
    return " ".join(
        f"Of {count} cases, none is {0:.1%} with {wilson(0, count)[0]:.1%}–{wilson(0, count)[1]:.1%}, "
        f"all are {1:.1%} with {wilson(count, count)[0]:.1%}–{wilson(count, count)[1]:.1%}."
        for count in counts
    )


def _row(name: str, systems: Sequence[Mapping[str, Any]]) -> str:
    return f"| {name} | " + " | ".join(_cell(system["by_class"].get(name, {})) for system in systems) + " |"


def _cell(counts: Mapping[str, int]) -> str:
    letters = [f"{verdict[0].upper()}{counts[verdict]}" for verdict in FAILURES if counts.get(verdict)]
    return " ".join(letters) or ("–" if counts.get(UNABLE) else "·")
