"""The visible files of a session: how files of a lake version are chosen, cut and proven."""
