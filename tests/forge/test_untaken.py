"""Exits of held positions and paths of untaken trades, computed from a lake of bars. Ids: O2."""

import random
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest

from forge.core.clock import Simulated
from forge.core.config import Counterfactuals, from_mapping
from forge.memory import Memory
from forge.memory.guardrails import Guardrails
from forge.providers.base import At
from forge.records import KINDS, Expression, Settles, parse
from forge.tracking.settlement import whole_memory
from forge.tracking.trades import close_exits
from forge.tracking.untaken import track_untaken
from forge.walk.pm import advance
from pitlake.clock import NEW_YORK, end_of_new_york_day
from pitlake.exchange import session
from pitlake.lake.lake import Lake
from tests.derived.conftest import put_rows
from tests.forge.world import BOOK, NEW_VIEW, activated, turn, wrote

START = datetime(2024, 3, 1, 8, tzinfo=NEW_YORK)
DAYS = [day for number in range(150) if session(day := date(2024, 3, 1) + timedelta(days=number))]
HELD = Expression(
    id="new", view_id="V-001", category="macro_regime", instrument="QBG", status="proposed", direction="long",
    max_loss_pct=1.0, notional=10.0, duration_impact=0.0, factor_exposures={"rates": 5.0}, target="110", stop="$95",
)  # fmt: skip
ASKED = Settles(query="entity_latest_price", params={"ticker": "QBG"}, rule="close > 100", by=date(2024, 12, 1))


def bar(day, price, **more):
    reply = {"entity_kind": "company", "entity_id": "1", "symbol": "QBG", "date": day, "volume": 1.0}
    return reply | dict.fromkeys(("open", "high", "low", "close"), price) | {"available_at": session(day).close} | more


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """A lake with a two-for-one split on the third day, a dividend on the fourth, and highs of 56 from the sixth."""
    outcome = Lake(tmp_path_factory.mktemp("bars") / "lake")
    prices = [100.0, 101.0, 50.0, 50.5, 51.0, 54.0] + [54.0] * (len(DAYS) - 6)
    rows = [bar(day, price, **({"high": 56.0} if price == 54 else {})) for day, price in zip(DAYS, prices, strict=True)]
    put_rows(outcome, "prices", *rows)
    split = {"split_id": "s", "ticker": "QBG", "execution_date": DAYS[2], "split_from": 1.0, "split_to": 2.0}
    put_rows(outcome, "splits", split | {"available_at": session(DAYS[2]).close})
    dividend = {"ticker": "QBG", "declaration_date": DAYS[0], "ex_dividend_date": DAYS[3], "cash_amount": 0.25}
    dividend |= {"dividend_id": "d", "dividend_type": "Regular", "currency": "USD"}
    put_rows(outcome, "dividends", dividend | {"available_at": end_of_new_york_day(DAYS[0])})
    return outcome


@pytest.fixture
def memory(tmp_path):
    outcome = Memory(tmp_path / "forge", clock=Simulated("untaken", START))
    wrote(standing(outcome, "pm"), "/portfolio/state.md", BOOK, "book")
    wrote(standing(outcome), "/memory/views/new.md", replace(NEW_VIEW, confidence=0.5, settles=ASKED), "first")
    yield outcome
    outcome.close()


def standing(memory, actor="agent"):
    return turn(memory, "s", memory.read_instant(memory.journal.clock.now()), actor=actor)


def at(memory, lake, day, hour=20):
    memory.journal.clock.move(
        moment := max(memory.journal.clock.now(), datetime(day.year, day.month, day.day, hour, tzinfo=NEW_YORK))
    )
    return At(as_of=moment, lake=lake.root)


def proposed(memory, **changed):
    call = f"e{memory.journal.head()[0]}"
    return wrote(standing(memory), "/memory/expressions/new.md", replace(HELD, **changed), call)[-8:-3]


def held(memory, **changed):
    """Propose and approve an Expression; return its id."""
    name = proposed(memory, **changed)
    activated(memory, name)
    return name


def test_o2_a_position_is_closed_at_its_target_across_a_split_and_a_dividend(memory, lake):
    name = held(memory)
    assert close_exits(memory, at(memory, lake, DAYS[4])) == ([], [])
    (outcome,), _ = close_exits(memory, at(memory, lake, DAYS[6]))
    assert (outcome.expression, outcome.status, outcome.pnl) == (
        name,
        "target",
        pytest.approx(10 * (2 * 55 + 0.5 - 100) / 100),
    )
    assert f"target at 55 on {DAYS[5]}" in outcome.body
    assert close_exits(memory, at(memory, lake, DAYS[7]))[0] == []
    row = whole_memory(memory, memory.journal.clock.now()).newest(f"/memory/expressions/{name}.md")
    assert "status: closed" in row.content


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"direction": "option"}, "a trade that is option can't be followed by daily bars"),
        ({"target": "115 or so"}, "target '115 or so' is not a price in USD"),
        ({"instrument": "TY"}, f"there are no bars for TY on 10 days, {DAYS[0]} to {DAYS[9]}"),
    ],
)
def test_o2_a_position_that_bars_cannot_follow_is_a_gap_with_a_reason(memory, lake, changed, reason):
    name = held(memory, **changed)
    outcome, gaps = close_exits(memory, at(memory, lake, DAYS[9]))
    assert outcome == []
    assert [each for each in gaps if each.startswith(f"{name}: {reason}")]


def adjust(memory, name, **changed):
    """Propose, review and approve a change to a held Expression."""
    text = standing(memory).read_file(f"/memory/expressions/{name}.md")
    change = replace(parse(KINDS["expressions"], text), id="new", adjusts=name, status="proposed", **changed)
    path = wrote(standing(memory), "/memory/expressions/new.md", change, f"a{memory.journal.head()[0]}")
    activated(memory, path[-8:-3])


def test_a_raised_stop_applies_only_from_the_next_open(memory, lake):
    """The stop of 50.8 is set on the evening after the close at 50.5. All later bars are above the stop."""
    name = held(memory)
    at(memory, lake, DAYS[3])
    adjust(memory, name, stop="50.8", target="")
    assert close_exits(memory, at(memory, lake, DAYS[4])) == ([], [])
    assert close_exits(memory, at(memory, lake, DAYS[6])) == ([], [])


def test_a_lowered_stop_does_not_undo_an_exit_that_was_due(memory, lake):
    name = held(memory, stop="$100", target="")
    at(memory, lake, DAYS[3])
    adjust(memory, name, stop="1")
    (outcome,), gaps = close_exits(memory, at(memory, lake, DAYS[6]))
    assert (outcome.expression, outcome.status, outcome.pnl, gaps) == (name, "stop", 0.0, [])


@pytest.mark.parametrize(("hour", "price"), [(8, 50.5), (11, 50.5), (20, 51.0)])
def test_an_approved_closing_order_is_executed_at_the_next_close(memory, lake, hour, price):
    name = held(memory)
    at(memory, lake, DAYS[3], hour)
    adjust(memory, name, expires=DAYS[9])
    adjust(memory, name, exit_reason="thesis_broken")
    (outcome,), gaps = close_exits(memory, at(memory, lake, DAYS[6]))
    assert (outcome.expression, outcome.status, gaps) == (name, "thesis_broken", [])
    assert outcome.pnl == pytest.approx(10 * (2 * price + 0.5 - 100) / 100)


def rejected(memory, name):
    path = f"/memory/expressions/{name}.md"
    record = replace(HELD, id=name, status="rejected", rejection_reason="too dear")
    wrote(standing(memory, "pm"), path, record, f"reject{name}")


def test_o2_a_rejected_trade_is_followed_like_a_position(memory, lake):
    rejected(memory, proposed(memory))
    (early,), gaps = track_untaken(memory, at(memory, lake, DAYS[1]))
    assert (early.status, early.entry_price, len(early.marks), gaps) == ("tracking", 100.0, 2, [])
    assert track_untaken(memory, at(memory, lake, DAYS[1], 21)) == ([], [])
    (outcome,), _ = track_untaken(memory, at(memory, lake, DAYS[8]))
    assert (outcome.status, outcome.exit_reason, outcome.total_return) == ("completed", "target", pytest.approx(0.105))
    assert [mark.day for mark in outcome.marks] == DAYS[:6]
    assert track_untaken(memory, at(memory, lake, DAYS[9]))[0] == []


def test_o2_an_untraded_view_is_followed_by_its_settlement_query(memory, lake):
    short = Counterfactuals(default_tracking_days=11)
    wrote(standing(memory), "/memory/views/new.md", replace(NEW_VIEW, settles=ASKED), "second")
    assert track_untaken(memory, at(memory, lake, date(2024, 3, 15), 7)) == ([], [])
    (outcome,), gaps = track_untaken(memory, at(memory, lake, date(2024, 3, 19)), short)
    assert (outcome.decision_type, outcome.view, outcome.expression, gaps) == (
        "view_without_expression", "V-002", "", [],
    )  # fmt: skip
    assert [(mark.day.day, mark.value) for mark in outcome.marks] == [(15, 54.0), (18, 54.0), (19, 54.0)]
    (done,), _ = track_untaken(memory, at(memory, lake, date(2024, 3, 27)), short)
    assert (done.status, len(done.marks), done.marks[:3]) == ("completed", 8, outcome.marks)


def test_c1_a_walk_follows_untraded_views_after_the_configured_days(memory, lake):
    wrote(standing(memory), "/memory/views/new.md", replace(NEW_VIEW, settles=ASKED), "second")
    now = at(memory, lake, date(2024, 3, 15), 7)
    counted = [
        advance(memory, now, Guardrails(), lambda _decision: [], from_mapping({"counterfactuals": {"min_days": days}}))
        for days in (14, 2)
    ]
    assert [done["followed"] for done in counted] == [0, 1]


def test_o2_every_trade_that_was_not_taken_is_followed(memory, lake):
    kinds = ["none", "draft", "proposed", "rejected", "expires", "weakened"] * 2
    rng, due = random.Random("coverage"), set()
    for number, what in enumerate(rng.sample(kinds, len(kinds))):
        now = memory.journal.clock.now() + timedelta(days=rng.randint(0, 3))
        memory.journal.clock.move(now)
        sure = rng.choice((0.5, 0.59, 0.6, 0.9))
        view = wrote(
            standing(memory), "/memory/views/new.md", replace(NEW_VIEW, confidence=sure, settles=ASKED), f"v{number}"
        )
        view = view.rpartition("/")[2][:-3]
        if what in ("draft", "proposed", "rejected", "expires"):
            status, expires = ("draft" if what == "draft" else "proposed"), now.date() + timedelta(days=5)
            name = proposed(memory, view_id=view, status=status, expires=expires if what == "expires" else None)
        if what == "rejected":
            rejected(memory, name)
            due.add(("rejected_expression", name))
        if what == "expires":
            due.add(("expired_expression", name))
        if what == "weakened":
            weaker = replace(NEW_VIEW, id=view, confidence=0.4, settles=ASKED)
            wrote(standing(memory), f"/memory/views/{view}.md", weaker, f"weaker{number}")
        if what in ("none", "draft") and sure >= 0.6:
            due.add(("view_without_expression", view))
    end = memory.journal.clock.now().date() + timedelta(days=15)
    while session(end) is None:
        end += timedelta(days=1)
    outcomes, _ = track_untaken(memory, at(memory, lake, end))
    result = {(each.decision_type, each.expression or each.view) for each in outcomes}
    assert result == due
    assert {kind for kind, _ in due} == {"rejected_expression", "expired_expression", "view_without_expression"}
