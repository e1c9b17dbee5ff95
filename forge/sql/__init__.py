"""The views of Forge's datasets: SQL, one file per dataset."""
