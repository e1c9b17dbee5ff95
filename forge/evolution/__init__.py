"""How skills change: agreeing lessons, a test on later decisions, and the PM's approval of exactly one patch."""
