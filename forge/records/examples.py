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
        scenarios=(Scenario(name="soft", probability=0.6), Scenario(name="hard", probability=0.4)),
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
        id=NEW,
        decision_type="view_without_expression",
        view="V-001",
        reason="no instrument paid for its worst case",
    ),
}
