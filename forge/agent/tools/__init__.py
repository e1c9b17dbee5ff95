"""The agent's tools, one module each: name, description and schema as the model sees them, and what they do."""
