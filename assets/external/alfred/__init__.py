"""FRED and ALFRED: macroeconomic series with every vintage. One module per dataset."""
