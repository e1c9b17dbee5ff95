"""FRED-MD: the monthly panel. One module per dataset."""
