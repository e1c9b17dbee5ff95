"""What became of forecasts and trades: settled against the lake, then scored. Written by code; no model is called."""
