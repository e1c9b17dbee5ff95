"""The storage of a lake's files: object stores, the log, manifests, and caches of files."""
