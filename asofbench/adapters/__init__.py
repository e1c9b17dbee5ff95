"""One module a family of systems: how rows get in, and how a question is put. Imported where it is installed."""
