"""Sub-agents: tasks, their schedule, their execution, and the validation of their output."""
