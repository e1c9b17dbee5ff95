"""The real Claude Code in a bound session, spoken to by a scripted model: what it lets the model read is looked at."""
