"""Alpha Vantage's datasets: bars as traded, reported earnings, estimates, and the calendar of reports."""
