"""The visible files of a session: files of a lake version are chosen, cut and proven."""
