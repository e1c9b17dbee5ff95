"""The agent kit: Claude Code's agents, skills and hooks for the lake, installed into a project and removed again.

`kit` lists its files, `settings` merges it into existing settings, `install` installs, checks and uninstalls.
"""
