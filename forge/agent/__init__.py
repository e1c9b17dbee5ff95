"""Turns of the agent: sessions, prompt, loop, tools, sub-agent tasks, and replay."""
