"""The real Claude Code in a bound session with a scripted model: the tests check what it lets the model read."""
