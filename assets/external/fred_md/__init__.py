"""FRED-MD: the monthly panel. One module a dataset."""
