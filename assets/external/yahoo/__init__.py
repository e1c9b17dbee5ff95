"""Yahoo's datasets: earnings events and analyst ratings."""
