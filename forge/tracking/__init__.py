"""What became of what was forecast: settled by the lake, then scored. Code alone writes it, no model is asked."""
