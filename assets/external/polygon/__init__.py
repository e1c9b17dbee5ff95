"""Polygon's (Massive's) datasets: dividends and splits with exact figures."""
