"""What things cost, as ratios against a baseline in the same run. `python -m bench` runs and prints all of them."""
