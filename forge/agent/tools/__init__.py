"""The agent's tools, one module each: what the model sees of them, and what they do."""
