"""How forecasts are judged: scenarios, confidence, repeated and trivial questions, against independent computations."""

import math
import random
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest

from forge.core.clock import Simulated
from forge.memory import Memory
from forge.records import KINDS, Scenario, Settlement, Settles, parse, render
from forge.tracking.calibration import calibrate, measure_category
from forge.tracking.settlement import settle
from pitlake.clock import NEW_YORK
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp
from tests.forge.test_settlement import asking, nobody
from tests.forge.world import NEW_VIEW, turn, wrote

STATED, DUE = datetime(2014, 5, 2, 12, tzinfo=NEW_YORK), date(2014, 5, 31)
END = datetime(2014, 12, 31, tzinfo=NEW_YORK)
LEVELS = ("value < 100", "value >= 100 and value < 110", "value >= 110")


def scenarios(shares, whens=LEVELS):
    return tuple(
        Scenario(name=f"s{number}", probability=share, when=when)
        for number, (share, when) in enumerate(zip(shares, whens, strict=True))
    )


def asked(shares, rule, confidence, whens=LEVELS, **settles):
    params = {"series": "GDP", "limit": 1}
    judged = Settles(**{"query": "macro_series", "params": params, "rule": rule, "by": DUE, **settles})
    return replace(NEW_VIEW, settles=judged, confidence=confidence, scenarios=scenarios(shares, whens))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"confidence": 0.6}, "confidence is 0.6, but the scenarios in which 'value < 110' holds sum to 0.7"),
        ({"whens": ("value < 100", "value >= 100", "value >= 110")}, "s1 and s2 would come true; exactly one must"),
        ({"whens": ("value < 90", "value >= 100 and value < 110", "value >= 110")}, "no scenario would come true"),
        ({"whens": ("value < 105", "value >= 105 and value < 111", "value >= 111")}, "s1 is partly inside"),
        ({"whens": ("value < 100", "", "value >= 110")}, "give every scenario a `when`, or none"),
        ({"whens": ("close < 100", "close >= 100 and close < 110", "close >= 110")}, "when: reads close"),
        ({"whens": ("low", "value >= 100 and value < 110", "value >= 110")}, "when: rule: give a column"),
    ],
)
def test_confidence_is_what_the_scenarios_say_and_they_cover_every_value_once(changed, problem):
    fitting = {"shares": (0.2, 0.5, 0.3), "rule": "value < 110", "confidence": 0.7, "whens": LEVELS}
    view = asked(**fitting)
    assert parse(KINDS["views"], render(view)) == view
    with pytest.raises(ValueError, match="scenarios: ") as refused:
        asked(**fitting | changed)
    assert problem in str(refused.value)


@pytest.fixture
def memory(tmp_path):
    made = Memory(tmp_path / "forge", clock=Simulated("judging", STATED))
    yield made
    made.close()


def written(memory, view, author="code"):
    fs = turn(memory, "s", memory.read_instant(memory.journal.clock.now()), actor=author)
    wrote(fs, "/memory/views/new.md", view, f"v{memory.journal.head()[0]}")


def settled(memory, lake):
    memory.journal.clock.move(END)
    return settle(memory, asking(lake), nobody)


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A series that is published monthly: below 100 for the months of 2013 with an odd number, then 105 in May 2014."""
    lake = Lake(tmp_path_factory.mktemp("judging") / "lake")
    months = [(2013, month) for month in range(4, 13)] + [(2014, month) for month in range(1, 5)]
    rows = [gdp(f"{year}-{month:02d}-15", 90.0 if month % 2 else 104.0) for year, month in months]
    put_rows(lake, "macro_observations", *rows, gdp("2014-05-20", 105.0))
    return lake


def test_settled_scenarios_and_base_rates_are_those_of_a_direct_computation(memory, history):
    """70 random Views: which scenario came, its scores, the base rate of twelve month ends, the measured category."""
    chance = random.Random(42)
    views = []
    for _ in range(70):
        low = chance.choice((85, 87, 89, 89.5, 91, 93, 95, 99, 103, 104.5, 104.9, 105.5, 106, 107, 110))
        high = low + chance.choice((3, 10))
        cut = [chance.random() for _ in range(3)]
        shares = [round(part / sum(cut), 3) for part in cut]
        shares[2] = round(1 - shares[0] - shares[1], 3)
        whens = (f"value < {low}", f"value >= {low} and value <= {high}", f"value > {high}")
        view = asked(shares, f"value < {low}", shares[0], whens, by=DUE + timedelta(days=chance.choice((0, 9, 40))))
        views.append((view, low, high))
        written(memory, view)
    found = {settlement.view: settlement for settlement in settled(memory, history)}
    ends = [90.0 if month % 2 else 104.0 for month in (*range(5, 13), *range(1, 5))]  # known at each month's end
    errors, base_errors, briers, logs, leads, questions = [], [], [], [], [], set()
    for number, (view, low, high) in enumerate(views, start=1):
        judged = found[f"V-{number:03d}"]
        came = 0 if low > 105 else 1 if high >= 105 else 2
        shares = [scenario.probability for scenario in view.scenarios]
        brier = sum((share - (place == came)) ** 2 for place, share in enumerate(shares))
        base = (sum(end < low for end in ends) + 0.5) / 13
        assert (judged.scenario, judged.base_rate) == (f"s{came}", pytest.approx(base))
        assert (judged.scenario_brier, judged.scenario_probability) == (pytest.approx(brier), shares[came])
        if (low, view.settles.by) in questions:
            continue
        questions.add((low, view.settles.by))
        happened = came == 0
        errors.append((view.confidence - happened) ** 2)
        base_errors.append((base - happened) ** 2)
        briers.append(brier)
        logs.append(-math.log(min(max(shares[came], 1e-6), 1 - 1e-6)))
        leads.append((view.settles.by - STATED.date()).days)
    (mark,) = calibrate(memory, END)
    assert (mark.forecasts, mark.repeats) == (len(questions), 70 - len(questions))
    assert mark.skill == pytest.approx(1 - sum(errors) / sum(base_errors), abs=1e-5)
    assert mark.scenario_brier == pytest.approx(sum(briers) / len(briers), abs=1e-5)
    assert mark.scenario_log_score == pytest.approx(sum(logs) / len(logs), abs=1e-5)
    middle = sorted(leads)[(len(leads) - 1) // 2], sorted(leads)[len(leads) // 2]
    assert mark.lead_days == sum(middle) / 2


def settlement(number, **changed):
    told = {
        "id": f"S-{number:03d}", "view": f"V-{number:03d}", "category": "thematic", "probability": 0.9,
        "exposure": "clean", "source": "agent", "status": "came_true", "by": DUE, "stated_at": STATED,
        "asked_as_of": END, "question": str(number), "rule": "close > 1",
    }  # fmt: skip
    return Settlement(**told | changed)


def test_a_trivial_question_has_no_skill_however_low_its_brier_score():
    trivial = [settlement(number, base_rate=12.5 / 13) for number in range(40)]
    mark = measure_category("thematic", trivial)
    assert mark.brier == pytest.approx(0.01)
    assert mark.skill < -5


@pytest.mark.parametrize(
    ("second", "count"),
    [
        ({"question": "1"}, 1),
        ({"question": "2", "rule": "close > 1.0", "row_key": '{"day": 1}'}, 1),
        ({"question": "2", "rule": "close > 2", "row_key": '{"day": 1}'}, 2),
        ({"question": "1", "source": "pm"}, 2),
        ({"question": "2"}, 2),
    ],
)
def test_the_same_question_of_many_views_counts_once_by_its_first_forecast(second, count):
    key = {"row_key": '{"day": 1}'} if "row_key" in second else {}
    later = settlement(2, stated_at=STATED + timedelta(days=1), probability=0.1, **second)
    mark = measure_category("thematic", [later, settlement(1, **key)])
    assert (mark.forecasts, mark.repeats) == (count, 2 - count)
