"""One valid record of every kind that agents write. Help pages show them, and errors quote their lines."""

from datetime import date

from forge.records.base import Record
from forge.records.judged import Settles
from forge.records.kinds import (
    NEW,
    Counterfactual,
    Expression,
    Invalidation,
    Linkage,
    Observation,
    ProcessKnowledge,
    Scenario,
    View,
)

EXAMPLES: dict[str, Record] = {
    "views": View(
        id=NEW,
        scope="us_growth",
        category="macro_regime",
        confidence=0.6,
        status="active",
        horizon="3m",
        links=("O-001",),
        scenarios=(
            Scenario(name="soft", probability=0.6, when="value < 17000"),
            Scenario(name="hard", probability=0.4, when="value >= 17000"),
        ),
        settles=Settles(query="macro_latest", params={"series": ["GDP"]}, rule="value < 17000", by=date(2035, 6, 29)),
        invalidation=(Invalidation(condition="payrolls rise by more than 250,000 in two months"),),
        body="## SUMMARY\n\nGrowth slows: orders fell for three months (ctx_001).",
    ),
    "expressions": Expression(
        id=NEW,
        view_id="V-001",
        category="macro_regime",
        instrument="TLT",
        status="draft",
        direction="long",
        max_loss_pct=0.8,
        notional=10.0,
        duration_impact=1.6,
        factor_exposures={"rates": 10.0},
        entry_details="92.50",
        target="101",
        stop="88",
        expires=date(2035, 6, 29),
        body="## SUMMARY\n\nLong bonds gain most if growth slows.",
    ),
    "observations": Observation(
        id=NEW,
        scope="us_credit",
        category="macro_regime",
        source="ctx_001",
        confidence=0.7,
        body="Lower-rated spreads widened for two weeks while equities rose.",
    ),
    "linkages": Linkage(id=NEW, source="oil_price", target="us_inflation", relation="raises", strength=0.6),
    "pk": ProcessKnowledge(
        id=NEW,
        skill=("view-validation",),
        category="macro_regime",
        weight=0.5,
        claim="first prints of payrolls are revised down when claims rise",
        body="Three of four first prints were revised down (V-001).",
    ),
    "counterfactuals": Counterfactual(
        id=NEW, decision_type="view_without_expression", view="V-001", reason="no instrument paid for its worst case"
    ),
}

RULES: dict[str, tuple[str, ...]] = {
    "views": (
        "an active View needs settles and two or more scenarios whose probabilities sum to 1; a draft may lack them",
        "settles.query is a named query (read /help/queries.md), params are its parameters",
        "settles.rule is a column of that query, one of < <= > >= == != and a number or a 'text', such as value < 2.0",
        "a scenario's `when` is true for the values with which it comes true: value >= 1 and value < 2",
        "if scenarios have a `when`, exactly one of them is true for any value",
        "confidence is then the sum of the probabilities of the scenarios in which settles.rule holds",
        "settles.by is a New York day that has not ended",
        "invalidation lists what would make the View wrong",
    ),
    "expressions": (
        "view_id is a View that exists",
        "status: draft first, proposed once it is ready for review; only the PM makes it active",
        "a proposed one needs notional, and max_loss_pct, duration_impact, factor_exposures if code can't compute them",
        "entry_details, target and stop: one price each; a long's stop is below its entry and target, a short's above",
        "code computes loss at the stop with a gap, factors, beta and duration from bars; the larger figure counts",
        "a spread or an option has legs; an option's leg has kind, strike and premium, a linear one its own stop",
        "a proposed one has a stop or max_loss_pct; without a stop a long loses its notional, a short any amount",
        "instrument of a long or short: a ticker with daily bars, or KIND:NAME:TENOR of market_quotes",
        "a curve such as curve:USD:10Y is a zero-coupon bond that pays 100: its levels are prices in USD",
        "code follows decimal prices in USD; the PM follows a spread or an option",
        "adjusts: the id of a held Expression whose target, stop or expires changes, or which exit_reason closes",
    ),
    "observations": ("category is free text",),
    "pk": ("skill lists the skills that the lesson concerns, separated by commas",),
    "counterfactuals": ("code follows the path afterwards: leave out all fields that are not listed here",),
}
"""Rules of each kind that go beyond the types of its fields, as help pages show them."""
