"""The proofs of the wall: attacks, weaker designs that they break, and the truncation campaign."""
