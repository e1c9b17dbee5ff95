"""The entries of the account that the PM books."""

OF_A_TICKER = {"borrow": "% a year", "loss": "% of its value"}
"""The entries that apply to one position, with the unit of their amount."""
ENTRIES = ("deposit", "withdrawal", "fee", "interest", *OF_A_TICKER)
