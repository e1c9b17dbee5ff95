"""What all outside feeds share: running, dating, naming and replaying them. No source is named here."""
