"""The verdict on a soak: a complete soak has no problems, and everything that is missing or wrong is a problem."""

import copy
from dataclasses import replace

import pytest

from tests.soak.verdict import DIED, Alert, Evidence, Fault, Run, judge

FULL = "No space left on device"
FAULTS = [
    Fault(name="daemon", began=100, ended=150, job="graph_days", step="", told=DIED),
    Fault(name="graph", began=200, ended=250, job="graph_days", step="GraphUnavailable", told="GraphUnavailable"),
    Fault(name="provider", began=300, ended=350, job="macro_watch", step="", told="HTTP 429"),
    Fault(name="disk", began=400, ended=450, job="graph_days", step=FULL, told=FULL),
]
ALWAYS = {"webserver": 200 << 20, "daemon": 180 << 20, "code server of daemon": 300 << 20}


def run(name, job, status, at, **more):
    return Run(id=f"{name}-and-so-on", job=job, status=status, created=at, started=at, ended=at + 10, **more)


RUNS = [
    run("died----", "graph_days", "FAILURE", 95),
    run("again---", "graph_days", "SUCCESS", 160, again="died-----and-so-on"),
    run("lost----", "graph_days", "FAILURE", 210, why=("prices: ResourceError ← GraphUnavailable it is gone",)),
    run("refused-", "macro_watch", "SUCCESS", 310, unanswered=("macro_observations",)),
    run("full----", "graph_days", "FAILURE", 410, why=(f"news: OSError [Errno 28] {FULL}",)),
    *(run(f"well-{place}", job, "SUCCESS", 500)
      for place, job in enumerate(("graph_days", "macro_watch", "maintenance", "quality"))),
]  # fmt: skip
TOLD = {
    RUNS[0].id: DIED,
    RUNS[2].id: "prices: GraphUnavailable",
    RUNS[3].id: "macro_observations: HTTP 429 × 1",
    RUNS[4].id: f"news: OSError ({FULL})",
}
WHOLE = Evidence(
    runs=RUNS,
    faults=FAULTS,
    alerts=[
        Alert(at=each.ended + 20, title="pitlake", body=f"{TOLD[each.id]}\nrun {each.id}")
        for each in RUNS
        if each.id in TOLD
    ],
    incidents={each: [why] for each, why in TOLD.items()},
    page=" ".join(each[:8] for each in TOLD),
    memory=[(5.0 * number, ALWAYS) for number in range(40)],
    lake=[],
)


def without(result, place):
    return [each for number, each in enumerate(result) if number != place]


def test_a_soak_with_every_fault_seen_alerted_and_resolved_has_no_problem():
    lines, problems = judge(WHOLE)
    assert problems == []
    assert any(
        line.startswith("graph: 50 s; 1 runs show it in the UI, 1 told of by alerts, 1 in report") for line in lines
    )


def test_a_retried_run_may_fail_by_the_next_fault():
    met = [
        replace(each, status="FAILURE", started=190, ended=240, why=RUNS[2].why) if each.again else each
        for each in RUNS
    ]
    again = next(each for each in met if each.again)
    reply = Alert(at=260, title="pitlake", body=f"prices: GraphUnavailable\nrun {again.id}")
    seen = replace(WHOLE, runs=met, alerts=[*WHOLE.alerts, reply], page=f"{WHOLE.page} {again.id[:8]}",
                   incidents=WHOLE.incidents | {again.id: ["prices: GraphUnavailable"]})  # fmt: skip
    assert judge(seen)[1] == []
    odd = [replace(each, why=("prices: KeyError",)) if each.again else each for each in met]
    assert f"daemon: run {RUNS[0].id} was not made good" in judge(replace(seen, runs=odd))[1]


@pytest.mark.parametrize("fault", range(4))
def test_a_fault_that_is_not_visible_everywhere_is_a_problem(fault):
    name = FAULTS[fault].name
    hit = next(each for each in RUNS if FAULTS[fault].explains(each))
    unseen = {**WHOLE.__dict__, "runs": [each for each in RUNS if each != hit]}
    assert f"{name} shows in no run of the UI" in judge(Evidence(**unseen))[1]
    untold = replace(WHOLE, alerts=[alert for alert in WHOLE.alerts if hit.id not in alert.body])
    assert f"{name}: no alert tells of run {hit.id}" in judge(untold)[1]
    unlisted = replace(WHOLE, incidents={each: why for each, why in WHOLE.incidents.items() if each != hit.id})
    assert f"{name}: the report does not list run {hit.id}" in judge(unlisted)[1]
    unsaid = replace(WHOLE, incidents=WHOLE.incidents | {hit.id: ["something failed"]})
    assert f"{name}: the report does not list run {hit.id}" in judge(unsaid)[1]
    hidden = replace(WHOLE, page=WHOLE.page.replace(hit.id[:8], ""))
    assert judge(hidden)[1] == [f"{name}: the report's page does not show run {hit.id}"]


CHANGES = {
    "an alert is late": (lambda seen: replace(seen, alerts=[replace(a, at=a.at + 1000) for a in seen.alerts]),
                         "an alert took"),
    "an alert comes twice": (lambda seen: replace(seen, alerts=[*seen.alerts, seen.alerts[0]]), "2 alerts tell of run"),
    "an alert of nothing": (lambda seen: replace(seen, alerts=[*seen.alerts, Alert(at=1, title="", body="run x")]),
                            "an alert tells of run x, which ended well"),
    "a killed run stays lost": (lambda seen: replace(seen, runs=without(seen.runs, 1)), "was not made good"),
    "a run without a fault": (lambda seen: replace(seen, runs=[*seen.runs, run("odd", "quality", "FAILURE", 260)]),
                              "failed without a fault"),
    "a step of its own": (lambda seen: replace(seen, runs=[replace(each, why=(*each.why, "calls: KeyError")) if each.why
                                                           else each for each in seen.runs]), "a reason of its own"),
    "no run is good after": (lambda seen: replace(seen, runs=without(seen.runs, 5)), "no graph_days ended well"),
    "a run goes on for ever": (lambda seen: replace(seen, runs=[*seen.runs, run("long", "quality", "STARTED", 480)]),
                               "never ended"),
    "a job never works": (lambda seen: replace(seen, runs=without(seen.runs, 7)), "the last run of maintenance"),
    "memory grows": (lambda seen: replace(seen, memory=[(at, sizes | {"daemon": (180 << 20) + int(at * 2e6)})
                                                        for at, sizes in seen.memory]), "memory of daemon grew"),
    "memory is not measured": (lambda seen: replace(seen, memory=seen.memory[:5]), "measured too seldom"),
    "the lake is wrong": (lambda seen: replace(seen, lake=["news contains a row twice"]), "news contains a row twice"),
    "a sensor fails": (lambda seen: replace(seen, log_errors=["caught an error"]), "a sensor or schedule failed"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_every_deviation_of_a_soak_is_a_problem(name):
    change, says = CHANGES[name]
    problems = judge(change(copy.deepcopy(WHOLE)))[1]
    assert any(says in problem for problem in problems)
