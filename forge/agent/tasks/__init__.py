"""Sub-agents: tasks, when they run, what runs in them, and how their output is judged."""
