"""Alerts on near stops, due Views and late data, each on both sides of its threshold."""

import json
from dataclasses import replace
from datetime import date, timedelta
from types import SimpleNamespace

import pytest

from forge.core.config import Alerts, Config, from_mapping
from forge.memory import Memory
from forge.memory.approvals import change_held
from forge.memory.guardrails import Guardrails
from forge.records import Settles
from forge.tracking.alerts import _unfollowed_text, alerts
from forge.tracking.risk import risk
from forge.tracking.settlement import settle, whole_memory
from forge.tracking.trades import close_exits
from forge.walk.report import page
from forge.walk.run import Ground, run
from forge.web import room
from pitlake import cli
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.test_untaken import ASKED, DAYS, at, bar, held, lake, memory, standing
from tests.forge.walks import DAYS as WALK
from tests.forge.walks import scripted, world
from tests.forge.world import NEW_VIEW, wrote
from tests.web.browsing import browsing

__all__ = ["lake", "memory"]


def alert_texts(memory, now, **settings):
    return alerts(whole_memory(memory, now.as_of), now, Config(alerts=Alerts(**settings)))


def of(kind, listing):
    return [(alert.subject, alert.text) for alert in listing if alert.kind == kind]


@pytest.mark.parametrize(("near", "alerted"), [(5.93, False), (5.95, True)])
def test_a_stop_alert_compares_the_last_close_with_the_split_adjusted_stop(memory, lake, near, alerted):
    """After the split a stop of 95 becomes 47.5, which is 5.94 % below the fourth day's close of 50.5."""
    held(memory)
    text = f"closed at 50.5 on {DAYS[3]}, 5.94 % from its stop 47.5"
    listing = of("stop near", alert_texts(memory, at(memory, lake, DAYS[3]), stop_near=near))
    assert listing == ([("E-001", text)] if alerted else [])


@pytest.mark.parametrize("terms", [{}, {"expires": DAYS[7]}])
def test_the_risk_of_a_held_trade_counts_from_its_split_adjusted_stop(memory, lake, terms):
    name, now = held(memory), at(memory, lake, DAYS[3])
    if terms:  # a later version with the same stop
        change_held(memory, name, "pm", Guardrails(), terms)
    remembered = whole_memory(memory, now.as_of)
    found = risk(remembered.record(remembered.newest(f"/memory/expressions/{name}.md")), remembered, now)
    assert [found.loss_at_stop, found.loss_with_gap] == pytest.approx([10 - 475 / 50.5, 10 - 475 / 50.5 * 100 / 101])


def test_alerts_name_a_stop_that_is_reached_or_unreadable_until_the_trade_closes(memory, lake):
    held(memory, stop="100", target="")
    held(memory, stop="95 or so", instrument="QBG")
    now = at(memory, lake, DAYS[3])
    first, second = of("stop near", alert_texts(memory, now))
    assert first == ("E-001", f"reached its stop 100 on {DAYS[0]}")
    assert second == ("E-002", "has a stop 95 or so that can't be followed: stop '95 or so' is not a price in USD")
    close_exits(memory, now)
    assert [name for name, _ in of("stop near", alert_texts(memory, now))] == ["E-002"]


def test_a_short_trade_near_its_stop_raises_an_alert(memory, lake):
    held(memory, direction="short", stop="102", target="80")
    assert of("stop near", alert_texts(memory, at(memory, lake, DAYS[1]), stop_near=1.0)) == [
        ("E-001", f"closed at 101 on {DAYS[1]}, 0.99 % from its stop 102")
    ]


def test_a_due_view_is_alerted_from_some_days_before_until_it_is_settled(memory, lake):
    question = replace(ASKED, rule="close > 10", by=DAYS[5])
    wrote(standing(memory), "/memory/views/new.md", replace(NEW_VIEW, settles=question), "due")
    wrote(standing(memory), "/memory/views/new.md", replace(NEW_VIEW, settles=question, status="draft"), "draft")
    early, near = at(memory, lake, DAYS[5] - timedelta(days=3)), at(memory, lake, DAYS[5] - timedelta(days=2))
    assert of("View due", alert_texts(memory, early, view_due_days=2)) == []
    assert of("View due", alert_texts(memory, near, view_due_days=2)) == [("V-002", f"is due on {DAYS[5]}: close > 10")]
    over = at(memory, lake, DAYS[6])
    assert of("View due", alert_texts(memory, over)) == [("V-002", f"was due on {DAYS[5]}, not settled")]
    settle(memory, over, lambda _decision: [])
    assert of("View due", alert_texts(memory, over)) == []


def test_a_view_that_the_lake_cannot_settle_stays_due_and_says_why(memory, lake):
    question = Settles(query="macro_series", params={"series": "GDP", "limit": 1}, rule="value > 1", by=DAYS[1])
    wrote(standing(memory), "/memory/views/new.md", replace(NEW_VIEW, settles=question), "due")
    now = at(memory, lake, DAYS[3])
    settle(memory, now, lambda _decision: [])
    ((name, text),) = of("View due", alert_texts(memory, now))
    assert (name, text.startswith(f"was due on {DAYS[1]}, not settled: ")) == ("V-002", True)


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """A lake whose bars end after two days."""
    outcome = Lake(tmp_path_factory.mktemp("late") / "lake")
    put_rows(outcome, "prices", *(bar(day, 100.0) for day in DAYS[:2]))
    return outcome


def test_a_position_is_unfollowed_once_a_sessions_bar_is_later_than_allowed(memory, late):
    held(memory, stop="")
    for day, hour in (DAYS[1], 20), (DAYS[2], 19):  # the second instant is three hours after a close
        now = at(memory, late, day, hour)
        assert [alert for alert in alert_texts(memory, now, data_late_hours=4) if alert.kind != "View due"] == []
    listing = alert_texts(memory, at(memory, late, DAYS[2], hour=21), data_late_hours=4)
    text = f"is unfollowed since {DAYS[2]}: there are no bars for QBG on {DAYS[2]}"
    assert (of("unfollowed", listing), of("data late", listing)) == ([("E-001", text)], [])


@pytest.mark.parametrize(
    ("side", "seen", "stop"), [(1, 95.0, "has passed its stop 97 at 95"), (1, 99.0, "may have passed its stop 97"),
                         (-1, 99.0, "has passed its stop 97 at 99"), (-1, 95.0, "may have passed its stop 97")],
)  # fmt: skip
def test_an_unfollowed_position_has_its_stop_passed_by_a_price_beyond_it(side, seen, stop):
    trade = SimpleNamespace(path=SimpleNamespace(stop=97.0), seen=(DAYS[2], seen), describe_holes=lambda _: "no bar")
    assert _unfollowed_text(trade, DAYS[2], side) == f"{stop}, unfollowed since {DAYS[2]}: no bar"


def test_a_dataset_that_an_open_view_needs_is_late_beyond_its_contract(memory, late):
    """The View is settled by prices, whose contract allows a delay of one day."""
    assert of("data late", alert_texts(memory, at(memory, late, DAYS[2]), data_late_hours=0)) == []
    ((name, text),) = of("data late", alert_texts(memory, at(memory, late, DAYS[4]), data_late_hours=0))
    assert (name, text.endswith("the contract allows 1 day before the last close")) == ("prices", True)


def test_later_rows_change_no_alert(memory, late, tmp_path):
    held(memory, stop="99", target="")
    question = replace(ASKED, rule="close > 10", by=DAYS[3])
    wrote(standing(memory), "/memory/views/new.md", replace(NEW_VIEW, settles=question), "due")
    longer = Lake(tmp_path / "longer")
    put_rows(longer, "prices", *(bar(day, 100.0 if day in DAYS[:2] else 50.0) for day in DAYS[:9]))
    for day in DAYS[1], DAYS[4]:
        ends, goes_on = (alert_texts(memory, at(memory, each, day), stop_near=5.0) for each in (late, longer))
        assert ends
        assert (ends == goes_on) == (day == DAYS[1])


def test_a_lake_that_has_ended_raises_no_late_data_alert(memory, tmp_path):
    ended = Lake(tmp_path / "ended")
    put_rows(ended, "prices", *(bar(day, 100.0) for day in DAYS[:2]))
    now = at(memory, ended, DAYS[1])
    ended.end_at(now.as_of)
    assert of("data late", alert_texts(memory, at(memory, ended, DAYS[9]))) == []


def test_alerts_from_memory_remain_without_a_market_lake(memory, tmp_path):
    held(memory)
    question = replace(ASKED, by=DAYS[1])
    wrote(standing(memory), "/memory/views/new.md", replace(NEW_VIEW, settles=question), "due")
    now = at(memory, Lake(tmp_path / "none"), DAYS[2])
    assert [(alert.kind, alert.subject) for alert in alert_texts(memory, now)] == [
        ("stop near", "E-001"),
        ("View due", "V-002"),
    ]


def test_alert_thresholds_can_be_set():
    chosen = from_mapping({"alerts": {"stop_near": 1, "view_due_days": 9, "data_late_hours": 2}}).alerts
    assert chosen == Alerts(stop_near=1.0, view_due_days=9, data_late_hours=2.0)


def test_command_and_page_show_the_same_alerts(lake, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORGE_LAKE", str(tmp_path / "forge"))
    monkeypatch.setenv("PITLAKE_LAKE", str(lake.root))
    outcome = Memory()
    question = Settles(query="entity_latest_price", params={"ticker": "QBG"}, rule="close > 1", by=date(2036, 9, 1))
    wrote(standing(outcome), "/memory/views/new.md", replace(NEW_VIEW, settles=question), "view")
    outcome.close()
    assert cli.invoke(["forge", "desk", "--format", "json"]) == 0
    listed_alerts = json.loads(capsys.readouterr().out)["alerts"]
    assert [(alert["kind"], alert["subject"]) for alert in listed_alerts] == [("data late", "prices")]
    (tmp_path / "forge.toml").write_text("[alerts]\nview_due_days = 9999\n")
    assert cli.invoke(["forge", "desk"]) == 0
    text = capsys.readouterr().out
    assert "View due: V-001 is due on 2036-09-01: close > 1\n" in text
    with browsing(lake.root, rooms=(room,)) as client:
        content = client.get("/desk").text
    assert (
        '<span class="tag warn">View due</span> <a href="/desk/v/V-001"><b>V-001</b></a> is due on 2036-09-01'
        in content
    )
    assert '<span class="tag warn">data late</span> <b>prices</b> has no rows after' in content


def test_a_walks_page_has_the_alerts_of_each_instant(tmp_path):
    ground = Ground(tmp_path / "walks", world(tmp_path / "lake"), scripted)
    run(WALK, ground)
    display = page([WALK], ground)
    assert '<th scope="row">View due</th><td>V-001</td><td>is due on 2014-05-07: value &gt; 17010</td>' in display
