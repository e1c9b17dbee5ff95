"""Judging forecasts: scenarios, confidence, repeated and trivial questions, against independent computations."""

import math
import random
from contextlib import closing
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest

from forge.memory import Memory
from forge.records import KINDS, Scenario, Settlement, Settles, parse, render
from forge.tracking.calibration import calibrate, measure_category
from forge.tracking.settlement import settle
from forge.web import room
from pitlake import cli
from pitlake.clock import NEW_YORK, from_micros
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_providers import gdp
from tests.forge.test_settlement import asking, nobody
from tests.forge.test_untaken import standing
from tests.forge.world import NEW_VIEW, wrote
from tests.web.browsing import browsing

STATED, DUE = datetime(2014, 5, 2, 12, tzinfo=NEW_YORK), date(2014, 5, 31)
CLOCK = "judging", STATED
END = datetime(2014, 12, 31, tzinfo=NEW_YORK)
LEVELS = ("value < 100", "value >= 100 and value < 110", "value >= 110")


def view_with(shares, rule, confidence, whens=LEVELS, **settles):
    params = {"series": "GDP", "limit": 1}
    judged = Settles(**{"query": "macro_series", "params": params, "rule": rule, "by": DUE, **settles})
    scenarios = tuple(
        Scenario(name=f"s{number}", probability=share, when=when)
        for number, (share, when) in enumerate(zip(shares, whens, strict=True))
    )
    return replace(NEW_VIEW, settles=judged, confidence=confidence, scenarios=scenarios)


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
def test_confidence_matches_scenarios_that_cover_every_value_exactly_once(changed, problem):
    fitting = {"shares": (0.2, 0.5, 0.3), "rule": "value < 110", "confidence": 0.7, "whens": LEVELS}
    view = view_with(**fitting)
    assert parse(KINDS["views"], render(view)) == view
    with pytest.raises(ValueError, match="scenarios: ") as refused:
        view_with(**fitting | changed)
    assert problem in str(refused.value)


def written(memory, view, author="code"):
    wrote(standing(memory, author), "/memory/views/new.md", view, f"v{memory.journal.head()[0]}")


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A lake with a monthly series: 90 in odd months and 104 in even months, then 105 in May 2014."""
    lake = Lake(tmp_path_factory.mktemp("judging") / "lake")
    months = [(2013, month) for month in range(4, 13)] + [(2014, month) for month in range(1, 5)]
    rows = [gdp(f"{year}-{month:02d}-15", 90.0 if month % 2 else 104.0) for year, month in months]
    put_rows(lake, "macro_observations", *rows, gdp("2014-05-20", 105.0))
    return lake


def test_settled_scenarios_and_base_rates_agree_with_a_direct_computation(memory, history):
    """70 random Views: true scenarios, scores, base rates from twelve month ends, and the category's calibration."""
    chance = random.Random(42)
    views = []
    for _ in range(70):
        low = chance.choice((85, 87, 89, 89.5, 91, 93, 95, 99, 103, 104.5, 104.9, 105.5, 106, 107, 110))
        high = low + chance.choice((3, 10))
        cut = [chance.random() for _ in range(3)]
        shares = [round(part / sum(cut), 3) for part in cut]
        shares[2] = round(1 - shares[0] - shares[1], 3)
        whens = (f"value < {low}", f"value >= {low} and value <= {high}", f"value > {high}")
        view = view_with(shares, f"value < {low}", shares[0], whens, by=DUE + timedelta(days=chance.choice((0, 9, 40))))
        views.append((view, low, high))
        written(memory, view)
    memory.journal.clock.move(END)
    result = {settlement.view: settlement for settlement in settle(memory, asking(history), nobody)}
    writes = [row for row in memory.journal.rows() if "/views/" in row.path]  # A View's last write is its verdict.
    found_at = {row.path[-8:-3]: from_micros(row.written_at) for row in reversed(writes)}
    known_at = gdp("2014-05-20", 105.0)["available_at"]
    ends = [90.0 if month % 2 else 104.0 for month in (*range(5, 13), *range(1, 5))]  # the newest value at month ends
    errors, base_errors, briers, logs, leads, questions = [], [], [], [], [], set()
    for number, (view, low, high) in enumerate(views, start=1):
        judged = result[f"V-{number:03d}"]
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
        if (view.confidence > 0.5) == happened:  # the answer is of 20 May, the Views are of 2 May
            leads.append((known_at - found_at[f"V-{number:03d}"]).total_seconds() / 86_400)
    (mark,) = calibrate(memory, END)
    assert (mark.forecasts, mark.repeats) == (len(questions), 70 - len(questions))
    assert mark.skill == pytest.approx(1 - sum(errors) / sum(base_errors), abs=1e-5)
    assert mark.scenario_brier == pytest.approx(sum(briers) / len(briers), abs=1e-5)
    assert mark.scenario_log_score == pytest.approx(sum(logs) / len(logs), abs=1e-5)
    middle = sorted(leads)[(len(leads) - 1) // 2], sorted(leads)[len(leads) // 2]
    assert (mark.right_forecasts, mark.lead_days) == (len(leads), pytest.approx(sum(middle) / 2, abs=1e-6))


def settlement(number, **changed):
    reply = {
        "id": f"S-{number:03d}", "view": f"V-{number:03d}", "category": "thematic", "probability": 0.9,
        "exposure": "clean", "source": "agent", "status": "came_true", "by": DUE, "stated_at": STATED,
        "asked_as_of": END, "question": str(number), "rule": "close > 1",
    }  # fmt: skip
    return Settlement(**reply | changed)


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


@pytest.mark.parametrize(("seed", "view_count"), [(0, 8), (1, 40), (2, 40)])
def test_lead_time_is_how_long_a_right_view_was_held_before_its_answer(memory, history, seed, view_count):
    """Random Views with several versions: the confidence crosses 0.5, and the status and question change."""
    chance = random.Random(f"lead/{seed}")
    questions = [
        view_with((0.2, 0.5, 0.3), "value < 110", 0.7, by=DUE),
        view_with((0.2, 0.5, 0.3), "value < 100", 0.2, by=DUE),
    ]
    rules = [chance.randrange(2) for _ in range(view_count)]
    for rule in rules:
        written(
            memory, replace(questions[rule], scenarios=NEW_VIEW.scenarios, confidence=chance.choice((0.2, 0.5, 0.8)))
        )
    for _ in range(3 * view_count):
        memory.journal.clock.move(memory.journal.clock.now() + timedelta(hours=chance.randint(1, 9)))
        number = chance.randrange(view_count)
        rule = rules[number] if chance.random() < 0.8 else 1 - rules[number]
        reply = {"confidence": chance.choice((0.3, 0.5, 0.9)), "status": chance.choice(("active", "active", "draft"))}
        text = replace(questions[rule], id=f"V-{number + 1:03d}", scenarios=NEW_VIEW.scenarios, **reply)
        wrote(standing(memory, "code"), f"/memory/views/{text.id}.md", text, f"w{memory.journal.head()[0]}")
    texts = {}
    for row in memory.journal.rows():
        if row.path.startswith("/memory/views/"):
            texts.setdefault(row.path[-8:-3], []).append(
                (from_micros(row.written_at), parse(KINDS["views"], row.content))
            )
    public = gdp("2014-05-20", 105.0)["available_at"]
    memory.journal.clock.move(END)
    outcome = settle(memory, asking(history), nobody)
    due = {}
    for judged in outcome:  # Go back from the answer to the View's last version that was not right.
        came_true, due[judged.id] = judged.rule == "value < 110", None
        for at, view in reversed([text for text in texts[judged.view] if text[0] < public]):
            is_right = view.confidence != 0.5 and (view.confidence > 0.5) == came_true
            if view.status != "active" or view.settles.rule != judged.rule or not is_right:
                break
            due[judged.id] = (public - at).total_seconds() / 86_400
    assert {judged.id: judged.lead_days for judged in outcome} == pytest.approx(due)
    assert len([lead for lead in due.values() if lead is None]) > view_count // 8
    assert len([lead for lead in due.values() if lead is not None]) > view_count // 8


def test_settle_and_calibrate_print_scores_and_the_pages_show_the_lead_time(history, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(history.root))
    assert cli.invoke(["forge", "settle"]) == 0
    assert capsys.readouterr().out == "nothing was due\n"
    assert cli.invoke(["forge", "calibrate"]) == 0
    assert capsys.readouterr().out == "no View was settled\n"
    with closing(Memory()) as live:
        for number in range(40):
            lead = 3.25 if number % 2 else None
            outcome = settlement(0, id="new", question=str(number), view="V-001", lead_days=lead)
            wrote(standing(live, "code"), "/memory/settlements/new.md", outcome, f"s{number}")
        written(live, NEW_VIEW, "pm")
    assert cli.invoke(["forge", "calibrate"]) == 0
    output = capsys.readouterr().out
    assert output.startswith("thematic: 40 forecasts, measured; Brier 0.010")
    assert output.endswith(", lead days 3.2\n")
    with browsing(history.root, rooms=(room,)) as client:
        scores, view = client.get("/desk/calibration").text, client.get("/desk/v/V-001").text
    assert '<td class="num" data-l="Lead, days">3.2</td>' in scores
    assert "20 were right before their answers were public." in scores
    assert "S-002: came true; right for 3.2 days before the answer was public" in view
