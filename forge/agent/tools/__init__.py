"""The agent's tools, one module each: their specifications and their implementations."""
