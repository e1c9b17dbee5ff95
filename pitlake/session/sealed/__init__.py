"""A session's process: the parent's side of it, the process itself, its seal, and the bytes that pass between them."""
