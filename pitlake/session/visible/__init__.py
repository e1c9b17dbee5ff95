"""The visible files of a session: which files of a lake version, where they are cut, and how they are proven."""
