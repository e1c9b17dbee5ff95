"""Settlement against an independent computation: each due View once, by what was public at the end of its day.

`python -m tests.forge.test_settlement 500` settles 500 questions.
"""

import random
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from forge.agent.prompt import system_prompt, worst_calibration
from forge.core.clock import Simulated
from forge.memory import Memory
from forge.providers.base import At, ask
from forge.records import KINDS, Calibration, Settlement, Settles, parse, render
from forge.tracking.calibration import calibrate, measure_category
from forge.tracking.settlement import settle, settlements
from pitlake.clock import NEW_YORK
from pitlake.errors import BadInput
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp
from tests.forge.test_untaken import standing
from tests.forge.world import NEW_VIEW, turn, wrote
from tests.tally import Tally

SETTLEMENTS = 25

STATED, SERIES = datetime(2014, 5, 2, 12, tzinfo=NEW_YORK), ("GDP", "CPI", "PCE")
CLOCK = "settling", STATED
NEWEST = {"query": "macro_series", "rule": "value < 17120", "by": date(2014, 5, 31)}
END = datetime(2014, 12, 31, tzinfo=NEW_YORK)


def asking(lake, at=END):
    return At(as_of=at, lake=lake.root)


def nobody(decision):
    return ["2013-01-01"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("settlement") / "lake")
    vintages = (("2014-04-30", 17149.6), ("2014-05-29", 17101.3), ("2014-06-25", 17016.0))
    put_rows(lake, "macro_observations", *(gdp(day, value) for day, value in vintages))
    return lake


def view(memory, **settles):
    judged = Settles(**{**NEWEST, "params": {"series": "GDP", "limit": 1}, **settles})
    text, call = replace(NEW_VIEW, settles=judged), f"v{memory.journal.head()[0]}"
    return wrote(standing(memory, "code"), "/memory/views/new.md", text, call)


def settled(memory, lake, year, month, day):
    memory.journal.clock.move(max(memory.journal.clock.now(), at := datetime(year, month, day, tzinfo=NEW_YORK)))
    return settle(memory, asking(lake, at), nobody)


def test_o2_a_view_is_settled_once_after_its_day_with_data_public_by_then(memory, lake):
    view(memory)
    assert settled(memory, lake, 2014, 5, 31) == []
    (outcome,) = settled(memory, lake, 2014, 6, 2)
    assert (outcome.id, outcome.view, outcome.status, outcome.value) == ("S-001", "V-001", "came_true", "17101.3")
    assert (outcome.asked_as_of, outcome.exposure, outcome.probability) == (
        datetime(2014, 6, 1, tzinfo=NEW_YORK),
        "clean",
        0.6,
    )
    assert settled(memory, lake, 2014, 6, 2) == []


def test_o2_a_restated_figure_is_a_second_settlement_beside_the_first(memory, lake):
    view(memory, rule="value > 17100")
    (first,) = settled(memory, lake, 2014, 6, 2)
    (second,) = settled(memory, lake, 2014, 7, 1)
    assert (first.status, second.status, second.value, second.restates) == ("came_true", "failed", "17016.0", "S-001")
    assert settlements(memory.hydrate(memory.read_instant(END), session="s")) == [first, second]
    assert settled(memory, lake, 2014, 8, 1) == []
    (mark,) = calibrate(memory, END)
    assert mark.forecasts == 1


def test_a_settled_view_expires_with_its_verdict_and_leaves_the_prompt(memory, lake):
    asked = {"query": "macro_series", "params": {"series": "GDP", "limit": 1}, "rule": "value > 1"}
    view(memory)
    moved = view(memory, rule="value > 17120")
    later = replace(newest(memory, moved), settles=Settles(**{**asked, "by": date(2014, 9, 30)}))
    wrote(standing(memory), moved, later, "moved")
    assert "VIEWS: 2 active" in system_prompt(standing(memory), 1, None)
    assert [outcome.view for outcome in settled(memory, lake, 2014, 6, 2)] == ["V-001", "V-002"]
    first, second = (newest(memory, f"/memory/views/V-00{number}.md") for number in (1, 2))
    assert [(each.status, each.verdict) for each in (first, second)] == [("expired", "came_true"), ("active", "")]
    assert "VIEWS: 1 active: V-002" in system_prompt(standing(memory), 1, None)
    (restated,) = [outcome for outcome in settled(memory, lake, 2014, 7, 1) if outcome.view == "V-001"]
    assert (restated.restates, newest(memory, "/memory/views/V-001.md")) == ("S-001", first)
    for changed in ({"status": "active"}, {"confidence": 0.9}, {"verdict": ""}):
        with pytest.raises(BadInput, match=r"V-001 is expired, which is final|verdict: is written by code"):
            wrote(standing(memory), "/memory/views/V-001.md", replace(first, **changed), str(changed))


def newest(memory, path):
    return standing(memory).remembered.record(standing(memory).remembered.newest(path))


def test_o2_a_question_shared_by_many_views_is_queried_once(memory, lake, monkeypatch):
    question = []

    def counted(query, params, at):
        question.append((query.name, at.as_of))
        return ask(query, params, at)

    monkeypatch.setattr("forge.tracking.settlement.ask", counted)
    for bound in (17100, 17110, 17120):
        view(memory, rule=f"value > {bound}")
    assert len(settled(memory, lake, 2014, 6, 2)) == 3
    assert len(settled(memory, lake, 2014, 7, 1)) == 3
    days = [(2014, 6), (2014, 5), (2014, 4), (2014, 7)]  # the base rate also queries the ends of April and March
    assert question == [("macro_series", datetime(year, month, 1, tzinfo=NEW_YORK)) for year, month in days]


def test_o2_moving_the_question_or_the_confidence_changes_no_score(memory, lake):
    path, moved = view(memory), {**NEWEST, "params": {"series": "GDP", "limit": 1}, "rule": "value < 1"}
    for number, changed in enumerate((replace(NEW_VIEW, settles=Settles(**moved), id="V-001", confidence=0.99),) * 2):
        wrote(standing(memory), path, changed, f"moved{number}")
    outcome = settled(memory, lake, 2014, 6, 2)
    assert [(each.rule, each.probability, each.status) for each in outcome] == [
        ("value < 17120", 0.6, "came_true"),
        ("value < 1", 0.99, "failed"),
    ]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"params": {"series": "NONE", "limit": 1}}, "the lake has no rows that answer it"),
        ({"rule": "price < 2"}, "price is missing in the row that answers it"),
        ({"rule": "value == 'up'"}, "value is 17101.3, which can't be compared by \"value == 'up'\""),
        ({"by": date(2014, 5, 1)}, "it was stated after the day that judges it"),
    ],
)
def test_o2_an_unanswerable_question_is_recorded_once_with_its_reason(memory, lake, changed, reason):
    view(memory, **changed)
    (outcome,) = settled(memory, lake, 2014, 6, 2)
    assert (outcome.status, outcome.reason, outcome.value) == ("unanswered", reason, "")
    assert settled(memory, lake, 2014, 6, 3) == []
    assert calibrate(memory, END) == []


def test_o2_a_late_publication_settles_a_view_as_of_its_first_public_instant(memory, tmp_path):
    late = Lake(tmp_path / "late")
    put_rows(late, "macro_observations", gdp("2014-06-10", 17000.0), gdp("2014-06-25", 18000.0))
    view(memory)
    assert [each.status for each in settled(memory, late, 2014, 6, 2)] == ["unanswered"]
    assert settled(memory, late, 2014, 6, 9) == []
    (outcome,) = settled(memory, late, 2014, 7, 1)
    public = datetime(2014, 6, 10, 8, 30, tzinfo=NEW_YORK)
    assert (outcome.status, outcome.value, outcome.asked_as_of, outcome.public_at) == (
        "came_true", "17000.0", public, public,
    )  # fmt: skip
    (again,) = settled(memory, late, 2014, 7, 2)
    assert (again.restates, again.status, again.value) == (outcome.id, "failed", "18000.0")


def test_o2_a_late_backfill_settles_a_view_as_of_its_settlement_day(memory, tmp_path):
    late = Lake(tmp_path / "late")
    put_rows(late, "macro_observations", gdp("2014-04-30", 1.0) | {"series_id": "CPI"})
    view(memory)
    assert [each.status for each in settled(memory, late, 2014, 6, 2)] == ["unanswered"]
    put_rows(late, "macro_observations", gdp("2014-05-29", 17101.3) | {"evidence": "backfilled"})
    (outcome,) = settled(memory, late, 2014, 6, 13)
    assert (outcome.status, outcome.value, outcome.asked_as_of) == (
        "came_true",
        "17101.3",
        datetime(2014, 6, 1, tzinfo=NEW_YORK),
    )


@pytest.mark.parametrize(
    ("cut_offs", "exposure"),
    [
        (["2014-05-01"], "clean"), (["2014-05-02"], "partial"), (["2014-05-30"], "partial"),
        (["2014-05-31"], "exposed"), (["2013-01-01", None], "exposed"), ([], "exposed"),
    ],
)  # fmt: skip
def test_o2_a_settlement_states_whether_the_model_may_have_seen_the_answer(memory, lake, cut_offs, exposure):
    view(memory)
    memory.journal.clock.move(END)
    (outcome,) = settle(memory, asking(lake), lambda decision: cut_offs)
    assert outcome.exposure == exposure


def test_o2_calibration_with_few_forecasts_is_insufficient(memory, lake):
    for number in range(4):
        view(memory, rule=f"value {'<' if number < 1 else '>'} {17120 + number}")
    memory.journal.clock.move(END)
    settle(memory, asking(lake), nobody)
    (few,) = calibrate(memory, END)
    assert (few.status, few.forecasts, few.brier, few.ece) == ("insufficient", 4, None, None)
    assert worst_calibration(standing(memory)) == "Insufficient calibration data."
    assert calibrate(memory, END) == []


def test_o2_a_category_is_scored_by_its_cleanest_sufficient_forecasts():
    def settlement(number, came_true, exposure):
        return Settlement(
            id=f"S-{number:03d}", view="V-001", category="thematic", probability=0.9, exposure=exposure, source="agent",
            status="came_true" if came_true else "failed", by=date(2014, 5, 31), stated_at=STATED, asked_as_of=END,
            question=f"{number} {exposure}",
        )  # fmt: skip

    clean = [settlement(number, number % 2, "clean") for number in range(40)]
    existing = [settlement(number, True, "exposed") for number in range(100)]
    result = measure_category("thematic", clean + existing)
    assert (result.status, result.exposure, result.forecasts) == ("measured", "clean", 40)
    assert (result.brier, result.base_brier, result.worst_bias) == (0.41, 0.25, 0.4)
    assert result.ece > result.null_ece
    assert [(cell.exposure, cell.forecasts, cell.brier) for cell in result.cells] == [
        ("clean", 40, 0.41),
        ("exposed", 100, 0.01),
    ]
    assert [cell.horizon for cell in result.cells] == ["to 1 month"] * 2
    assert measure_category("thematic", clean[:29] + existing).exposure == "exposed"
    assert parse(KINDS["calibration"], render(result)) == result


def test_o2_the_prompt_warns_of_what_chance_does_not_explain(memory):
    def told(ece):
        mark = Calibration(id="thematic", forecasts=40, status="measured", worst_bias=0.4, ece=ece, null_ece=0.2)
        wrote(
            turn(memory, "s", memory.read_instant(STATED), actor="code"),
            "/memory/calibration/thematic.md",
            mark,
            f"c{ece}",
        )
        return worst_calibration(standing(memory))

    assert told(0.4) == "⚠ thematic: worst band bias +0.40"
    assert told(0.1) == "No category deviates more than chance explains."


def world(root, count, seed):
    """Return a lake with vintages of three series, a separate list of their published rows, and random questions."""
    rng = random.Random(f"settlement/{seed}")
    lake, public = Lake(root / "lake"), []
    for series in SERIES:
        for month in range(1, 10):
            for vintage in sorted({date(2014, 4, 1) + timedelta(days=rng.randint(30 * month - 20, 280)) for _ in "12"}):
                row = gdp(str(vintage), round(rng.uniform(0, 100), 1))
                public.append({**row, "series_id": series, "observation_date": date(2014, month, 1)})
    put_rows(lake, "macro_observations", *public)
    question = [
        {
            "params": {"series": rng.choice(SERIES), "limit": 1},
            "rule": f"value {rng.choice(('<', '<=', '>', '>=', '!='))} {rng.randint(1, 99)}",
            "by": date(2014, 5, 2) + timedelta(days=rng.randint(0, 200)),
        }
        for _ in range(count)
    ]
    return lake, public, question


def expected(public, question):
    """Return the expected value and status, computed from the published rows, or None."""
    due = datetime.combine(question["by"] + timedelta(days=1), datetime.min.time(), NEW_YORK)
    rows = sorted(
        (row for row in public if row["series_id"] == question["params"]["series"]), key=lambda row: row["available_at"]
    )
    if not rows:
        return None
    first = max(due, rows[0]["available_at"])
    existing = {row["observation_date"]: row["value"] for row in rows if row["available_at"] <= first}
    value = existing[max(existing)]
    _, sign, bound = question["rule"].split()
    content = {"<": value < int(bound), "<=": value <= int(bound), ">": value > int(bound), ">=": value >= int(bound)}
    return str(value), "came_true" if content.get(sign, value != int(bound)) else "failed"


def campaign(count, seed=0):
    """Settle `count` questions; return the counts by status, and the settlements that differ from the oracle."""
    with tempfile.TemporaryDirectory(prefix="settlement-") as folder:
        lake, public, question = world(Path(folder), count, seed)
        memory, wrong = Memory(Path(folder) / "forge", clock=Simulated("oracle", STATED)), []
        for item in question:
            view(memory, **item)
        memory.journal.clock.move(END)
        first = settle(memory, asking(lake), nobody)
        for outcome in first:
            due = expected(public, question[int(outcome.view[2:]) - 1])
            if (outcome.value, outcome.status) != (due or ("", "unanswered")):
                wrong.append((outcome, due))
        tally = Counter(outcome.status for outcome in first)
        remaining = settlements(memory.hydrate(memory.read_instant(END), session="s"))
        again = settle(memory, asking(lake), nobody)
        memory.close()
        assert [each for each in remaining if not each.restates] == first
        assert not [each for each in again if not each.restates]
        return tally, wrong


def test_o2_settlements_agree_with_an_independent_computation():
    tally, wrong = campaign(25)
    assert wrong == []
    assert min(tally["came_true"], tally["failed"]) > 3


def share(seed, _folder):
    """Settle some questions."""
    counts, wrong = campaign(SETTLEMENTS, seed)
    return Tally(SETTLEMENTS, counts=counts, failures=wrong)
