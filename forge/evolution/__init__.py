"""How skills change: lessons that agree, a test on later decisions, and the PM's approval of exactly one patch."""
