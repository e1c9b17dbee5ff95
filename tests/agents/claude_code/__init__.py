"""The real Claude Code in a bound session, with a scripted model. The tests check what it lets the model read."""
