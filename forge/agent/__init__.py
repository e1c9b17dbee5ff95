"""A turn of the agent: sessions, prompt, loop, tools, tasks, and its replay."""
