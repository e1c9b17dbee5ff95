"""Settles forecasts and trades against the lake, and then scores them. Code writes the results; no model is called."""
