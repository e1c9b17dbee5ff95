"""The data agents played without a model: a lake with a marked future, Claude Code's part, mutated hook messages."""
