"""Where the files of a lake are kept: object stores, the log, manifests, and caches of files."""
