"""Sub-agents: what a task is, when it runs, what runs in it, and how its output is judged."""
