"""The proof of the wall: attacks, weaker designs they get through, and the truncation campaign."""
