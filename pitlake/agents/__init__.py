"""The agent kit: Claude Code's agents, skills and hooks for the lake, put into any project and taken out again.

`kit` says what belongs to it, `settings` joins it with settings that are there, `install` writes, checks and undoes.
"""
