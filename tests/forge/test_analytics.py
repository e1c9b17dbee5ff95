"""Analytics against closed forms and QuantLib."""

from itertools import pairwise
from math import exp, inf, log, sqrt

import pytest
import QuantLib as ql  # noqa: N813 - as in QuantLib's documentation
from hypothesis import given
from hypothesis import strategies as st

from forge.analytics.options import Leg, black_scholes, payoff, profit
from forge.analytics.rates import Curve, bond
from forge.analytics.scenarios import Branch, outlook
from forge.analytics.sizing import kelly, z_score
from pitlake.errors import BadInput
from tests.every import every

TODAY = ql.Date(15, 2, 2024)
DAYS = ql.Actual365Fixed()


@given(
    st.sampled_from(["call", "put"]), st.floats(20, 200), st.floats(20, 200), st.integers(7, 3650),
    st.floats(0.05, 1.0), st.floats(-0.02, 0.1), st.floats(0, 0.08),
)  # fmt: skip
def test_k2_option_price_and_greeks_agree_with_quantlib(kind, spot, strike, days, volatility, rate, dividend):
    ql.Settings.instance().evaluationDate = TODAY
    maturity = TODAY + days
    flat = [ql.YieldTermStructureHandle(ql.FlatForward(TODAY, value, DAYS)) for value in (dividend, rate)]
    moves = ql.BlackVolTermStructureHandle(ql.BlackConstantVol(TODAY, ql.NullCalendar(), volatility, DAYS))
    process = ql.BlackScholesMertonProcess(ql.QuoteHandle(ql.SimpleQuote(spot)), *flat, moves)
    right = ql.Option.Call if kind == "call" else ql.Option.Put
    option = ql.VanillaOption(ql.PlainVanillaPayoff(right, strike), ql.EuropeanExercise(maturity))
    option.setPricingEngine(ql.AnalyticEuropeanEngine(process))
    outcome = black_scholes(kind, spot, strike, days / 365, volatility, rate, dividend)
    expected = (option.NPV(), option.delta(), option.gamma(), option.vega(), option.theta(), option.rho())
    result = (outcome.price, outcome.delta, outcome.gamma, outcome.vega, outcome.theta, outcome.rho)
    assert result == pytest.approx(expected, rel=1e-6, abs=1e-8)


@given(st.floats(0, 0.12), st.integers(1, 60), st.floats(0.001, 0.15))
def test_k2_bond_price_durations_and_convexity_agree_with_quantlib(coupon, halves, yield_):
    ql.Settings.instance().evaluationDate = TODAY
    dates = [TODAY + ql.Period(6 * number, ql.Months) for number in range(1, halves + 1)]
    flows = [ql.SimpleCashFlow(coupon / 2, date) for date in dates] + [ql.SimpleCashFlow(1.0, dates[-1])]
    rate = ql.InterestRate(yield_, ql.SimpleDayCounter(), ql.Compounded, ql.Semiannual)
    outcome = bond(coupon, halves / 2, yield_)
    expected = (
        ql.CashFlows.npv(flows, rate, False, TODAY),
        ql.CashFlows.duration(flows, rate, ql.Duration.Macaulay, False, TODAY),
        ql.CashFlows.duration(flows, rate, ql.Duration.Modified, False, TODAY),
        ql.CashFlows.convexity(flows, rate, False, TODAY),
    )
    assert (outcome.price, outcome.macaulay, outcome.modified, outcome.convexity) == pytest.approx(expected, rel=1e-9)


def test_k2_a_par_bond_and_a_zero_coupon_bond_match_their_closed_forms():
    assert bond(0.05, 10, 0.05).price == pytest.approx(1)
    zero = bond(0.0, 7, 0.04)
    assert (zero.macaulay, zero.modified, zero.price) == (
        pytest.approx(7),
        pytest.approx(7 / 1.02),
        pytest.approx(1.02**-14),
    )
    assert zero.dv01 == pytest.approx(zero.modified * zero.price / 10_000)


def test_k2_a_curves_discount_factors_agree_with_quantlib():
    points = [(0.5, 0.052), (1, 0.0495), (2, 0.045), (5, 0.041), (10, 0.0405), (30, 0.042)]
    count = ql.Thirty360(ql.Thirty360.BondBasis)
    start = ql.Date(15, 1, 2024)
    dates = [start, *(start + ql.Period(round(12 * years), ql.Months) for years, _ in points)]
    theirs = ql.ZeroCurve(dates, [points[0][1], *(rate for _, rate in points)], count)
    ours = Curve.of(points)
    for years in (0.25, 0.5, 0.75, 1, 1.5, 3, 7.5, 10, 20, 30):
        date = start + ql.Period(round(12 * years), ql.Months)
        assert ours.discount(years) == pytest.approx(theirs.discount(date), rel=1e-12)
    assert ours.forward(2, 5) == pytest.approx((0.041 * 5 - 0.045 * 2) / 3)


def test_k2_a_flat_curves_par_rate_is_its_rate_compounded_semiannually():
    flat = Curve.of([(1, 0.04)])
    assert flat.par(10) == pytest.approx(2 * (exp(0.02) - 1))
    assert bond(flat.par(10), 10, flat.par(10)).price == pytest.approx(1)


@given(
    st.lists(
        st.tuples(st.sampled_from(["call", "put", "underlying"]), st.integers(1, 20), st.integers(-3, 3)),
        min_size=1,
        max_size=5,
    )
)
def test_k2_profits_stay_within_the_payoffs_bounds_and_are_zero_at_breakevens(option_terms):
    legs = [Leg(kind, float(strike), float(quantity), 0.5) for kind, strike, quantity in option_terms]
    outcome = payoff(legs)
    spots = [spot / 4 for spot in range(200)]
    assert every(outcome.least - 1e-9 <= profit(legs, spot) <= outcome.most + 1e-9 for spot in spots)
    assert [spot for spot in outcome.breakevens if abs(profit(legs, spot)) > 1e-9] == []
    crossings = sum(profit(legs, low) * profit(legs, high) < 0 for low, high in pairwise(spots))
    assert crossings <= len(outcome.breakevens)


def test_k2_straddle_spread_and_short_call_payoffs_match_the_textbook():
    straddle = payoff([Leg("call", 100, 1, 4), Leg("put", 100, 1, 3)])
    assert (straddle.most, straddle.least, straddle.breakevens) == (inf, -7, (93, 107))
    spread = payoff([Leg("call", 100, 1, 5), Leg("call", 110, -1, 2)])
    assert (spread.most, spread.least, spread.breakevens) == (7, -3, (103,))
    assert payoff([Leg("call", 100, -1, 5)]).least == -inf


def test_k2_a_trees_path_probabilities_sum_to_1_and_give_its_mean_and_deviation():
    tree = [
        Branch("cut", 0.6, branches=(Branch("soft", 0.75, 4.0), Branch("hard", 0.25, -8.0))),
        Branch("hold", 0.4, 1.0),
    ]
    outcome = outlook(tree)
    assert outcome.paths == (("cut / soft", pytest.approx(0.45), 4.0), ("cut / hard", 0.15, -8.0), ("hold", 0.4, 1.0))
    assert sum(chance for _, chance, _ in outcome.paths) == pytest.approx(1)
    assert outcome.mean == pytest.approx(1.0)
    assert outcome.deviation == pytest.approx(sqrt(0.45 * 9 + 0.15 * 81))


@pytest.mark.parametrize(
    "tree", [[Branch("a", 0.5, 1.0)], [Branch("a", 1.0)], [Branch("a", 1.2, 1.0), Branch("b", -0.2, 1.0)], []]
)
def test_k2_an_invalid_probability_tree_is_refused(tree):
    with pytest.raises(BadInput):
        outlook(tree)


def test_k2_a_z_score_compares_the_last_value_with_the_values_before():
    outcome = z_score([1, 2, 3, 4, 5, 11])
    assert (outcome.mean, outcome.deviation, outcome.score, outcome.percentile) == (
        3, pytest.approx(sqrt(2.5)), pytest.approx(8 / sqrt(2.5)), 1,
    )  # fmt: skip
    assert z_score([99, 1, 2, 3, 2], window=3).score == 0
    for short in ([1, 2, 3], [2, 2, 2, 2], [1, 2, 3, float("nan")]):
        with pytest.raises(BadInput, match="values"):
            z_score(short)


@given(st.floats(0.01, 0.99), st.floats(0.1, 10), st.floats(0.1, 1))
def test_k2_no_stake_grows_faster_than_the_kelly_stake(probability, win, loss):
    def growth(stake):
        return probability * log(1 + stake * win) + (1 - probability) * log(1 - stake * loss)

    best = kelly(probability, win, loss)
    room = min(1.0, 1 / loss) * (1 - 1e-9)
    assert every(growth(min(best, room)) >= growth(room * step / 50) - 1e-9 for step in range(50))


def test_k2_the_kelly_stake_matches_its_closed_forms():
    assert kelly(0.6, 1.0) == pytest.approx(0.2)
    assert kelly(0.6, 1.0, fraction=0.5) == pytest.approx(0.1)
    assert kelly(0.4, 1.0) == 0
    for wrong in (
        {"probability": 1.1, "win": 1},
        {"probability": 0.5, "win": 0},
        {"probability": 0.5, "win": 1, "fraction": 2},
    ):
        with pytest.raises(BadInput):
            kelly(**wrong)
