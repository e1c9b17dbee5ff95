"""The views of Forge's datasets: SQL, one file a dataset."""
