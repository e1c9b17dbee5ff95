"""What was public at T: which files of a lake version, cut where, proven how, handed over as open descriptors."""
